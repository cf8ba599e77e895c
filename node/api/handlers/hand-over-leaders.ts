import { validatedBody } from '../../../door/operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { nodeOf, operationIdOf, type Handler } from '../operation.ts'

const HOLD_MS = 60_000

export const handOverLeaders: Handler = async (request, { cluster }) => {
  const { hold_ms: holdMs = HOLD_MS } = validatedBody<{ readonly hold_ms?: number }>(request)
  const steering = { kind: 'hand_over', operationId: operationIdOf(request), holdMs } as const
  return jsonReply(202, await cluster.steerNode(nodeOf(request), steering))
}
