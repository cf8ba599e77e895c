import { NO_TIME, modelTag } from '../ollama-models.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

export const listLoadedModels: Handler = (_request, { service }) => {
  const loaded = new Set(service.readiness().loaded.map(({ model }) => model))
  const models = service.servedModels().filter(({ name }) => loaded.has(name))
  return jsonPiecesReply({
    models: models.map((model) => ({ ...modelTag(model), expires_at: NO_TIME, size_vram: 0 })),
  })
}
