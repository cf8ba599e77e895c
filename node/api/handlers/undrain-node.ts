import { jsonReply } from '../../../lib/http/reply.ts'
import { nodeOf, operationIdOf, type Handler } from '../operation.ts'

export const undrainNode: Handler = async (request, { cluster }) => {
  const steering = { kind: 'undrain', operationId: operationIdOf(request) } as const
  return jsonReply(202, await cluster.steerNode(nodeOf(request), steering))
}
