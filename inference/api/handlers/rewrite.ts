import { jsonReply } from '../../../lib/http/reply.ts'
import { validatedBody } from '../operation.ts'
import type { Handler } from '../operation.ts'

interface RewriteBody {
  readonly model: string
  readonly inputs: readonly string[]
}

export const rewrite: Handler = async (request, { service }) => {
  const { model: name = '', inputs = [] } = validatedBody<RewriteBody>(request)
  const { signal } = request
  const { model, results } = await service.rewrite.rewrite({ model: name, inputs, signal })
  return jsonReply(200, { model, texts: results.map(({ texts }) => texts) })
}
