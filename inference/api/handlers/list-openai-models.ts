import { openaiModel } from '../openai-models.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

export const listOpenaiModels: Handler = (_request, { service }) => {
  const models = service.servedModels().values()
  return jsonPiecesReply({ object: 'list', data: models.map(({ name }) => openaiModel(name)) })
}
