import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

interface RewriteBody {
  readonly model: string
  readonly inputs: readonly string[]
}

export const rewrite: Handler = async (request, { service }) => {
  const { model: name = '', inputs = [] } = validatedBody<RewriteBody>(request)
  const { signal } = request
  const { model, results } = await service.rewrite.rewrite({ model: name, inputs, signal })
  return jsonPiecesReply({
    model,
    texts: results.map(({ texts }) => texts),
    truncated: results.filter(({ isCut }) => isCut).length,
  })
}
