import { textReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'

export function readinessReply(isReady: boolean): BytesReply {
  return isReady ? textReply(200, 'ok') : textReply(503, 'not ready')
}
