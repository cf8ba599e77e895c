import { must } from '../../../lib/assert.ts'
import { validatedBody } from '../../../door/operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { shardOf, type Handler } from '../operation.ts'

export const transferLeader: Handler = async (request, { cluster }) => {
  const { to } = validatedBody<{ readonly to: string }>(request)
  return jsonReply(202, await cluster.transferLeader(shardOf(request), must(to, 'to in the body')))
}
