import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

interface RecognizeBody {
  readonly model: string
  readonly texts: readonly string[]
  readonly labels: readonly string[]
  readonly relation_labels: readonly string[]
}

export const recognize: Handler = async (request, { service }) => {
  const body = validatedBody<RecognizeBody>(request)
  const { model, results, hasRelations } = await service.recognize.recognize({
    model: body.model ?? '',
    texts: body.texts ?? [],
    labels: body.labels ?? [],
    relationLabels: body.relation_labels ?? [],
    signal: request.signal,
  })
  return jsonPiecesReply({
    model,
    entities: results.values().map(({ entities }) => entities),
    ...(hasRelations ? { relations: results.values().map(({ relations }) => relations) } : {}),
  })
}
