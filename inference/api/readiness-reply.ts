import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import type { Readiness } from '../pipelines/inference-service.ts'

export function readinessReply({ isReady, modelCounts, loaded, skipped }: Readiness): BytesReply {
  return jsonReply(isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'not_ready',
    models: modelCounts,
    loaded,
    skipped,
  })
}
