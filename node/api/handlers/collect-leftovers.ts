import { validatedBody } from '../../../door/operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { nodeOf, type Handler } from '../operation.ts'

export const collectLeftovers: Handler = async (request, { cluster }) => {
  const { shards = [] } = validatedBody<{ readonly shards: readonly string[] }>(request)
  return jsonReply(200, await cluster.collectLeftovers(nodeOf(request), shards))
}
