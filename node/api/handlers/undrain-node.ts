import { jsonReply } from '../../../lib/http/reply.ts'
import { nodeOf, type Handler } from '../operation.ts'

export const undrainNode: Handler = async (request, { cluster }) =>
  jsonReply(202, await cluster.steerNode(nodeOf(request), 'undrain'))
