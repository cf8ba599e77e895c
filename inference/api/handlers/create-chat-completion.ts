import { answerChat } from '../chat-completion.ts'
import type { Handler } from '../operation.ts'

export const createChatCompletion: Handler = (request, context) => answerChat(request, context)
