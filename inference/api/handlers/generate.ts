import { ServiceError } from '../../../lib/errors.ts'
import { validatedBody } from '../../../door/operation.ts'
import { answerChat } from '../chat-completion.ts'
import { answerPrompt, type PromptBody } from '../ollama-chat.ts'
import type { Handler } from '../operation.ts'

/** Messages are answered as a chat completion, a prompt as Ollama does. */
export const generate: Handler = (request, context) => {
  const { messages, prompt } = validatedBody<PromptBody>(request)
  if (prompt !== undefined) return answerPrompt(request, context)
  if (messages !== undefined) return answerChat(request, context)
  throw new ServiceError('INVALID_ARGUMENT', 'messages is required, or a prompt')
}
