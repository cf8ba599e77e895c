import { answerChat } from '../chat-completion.ts'
import type { Handler } from '../operation.ts'

export const generate: Handler = (request, context) => answerChat(request, context)
