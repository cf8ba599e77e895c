import type { Handler } from '../operation.ts'
import { openaiModel } from '../openai-models.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

export const getOpenaiModel: Handler = (request, { service }) =>
  jsonPiecesReply(openaiModel(service.requireServed(request.params['model'] ?? '').name))
