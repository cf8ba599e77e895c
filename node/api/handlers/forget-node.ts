import { emptyReply } from '../../../lib/http/reply.ts'
import { nodeOf, type Handler } from '../operation.ts'

export const forgetNode: Handler = async (request, { cluster }) => {
  await cluster.forgetNode(nodeOf(request))
  return emptyReply(204)
}
