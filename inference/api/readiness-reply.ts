import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import type { Readiness } from '../service/inference-service.ts'

export function readinessReply(readiness: Readiness): BytesReply {
  const { isReady, modelCounts, loaded, preload, skipped } = readiness
  return jsonReply(isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'not_ready',
    models: modelCounts,
    loaded,
    preload,
    skipped,
  })
}
