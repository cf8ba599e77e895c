import { must } from '../../../lib/assert.ts'
import { validatedBody } from '../../../door/operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { shardOf, type Handler } from '../operation.ts'

export const moveReplica: Handler = async (request, { cluster }) => {
  const body = validatedBody<{ readonly from: string; readonly to: string }>(request)
  const from = must(body.from, 'from in the body')
  const to = must(body.to, 'to in the body')
  return jsonReply(202, await cluster.moveReplica(shardOf(request), { from, to }))
}
