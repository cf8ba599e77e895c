import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

interface RerankBody {
  readonly model: string
  readonly query: string
  readonly prompts: readonly string[]
  readonly raw_scores: boolean
}

export const rerank: Handler = async (request, { service }) => {
  const body = validatedBody<RerankBody>(request)
  const { model, results } = await service.rerank.rerank({
    model: body.model ?? '',
    query: body.query ?? '',
    prompts: body.prompts ?? [],
    signal: request.signal,
  })
  const isRaw = body.raw_scores === true
  return jsonPiecesReply({
    model,
    scores: results.map(({ score, rawScore }) => (isRaw ? rawScore : score)),
    truncated: results.filter(({ isCut }) => isCut).length,
  })
}
