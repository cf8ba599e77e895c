import { modelTag } from '../ollama-models.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

export const listTags: Handler = (_request, { service }) =>
  jsonPiecesReply({ models: service.servedModels().values().map(modelTag) })
