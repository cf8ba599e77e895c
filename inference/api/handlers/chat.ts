import { answerOllamaChat } from '../ollama-chat.ts'
import type { Handler } from '../operation.ts'

export const chat: Handler = (request, context) => answerOllamaChat(request, context)
