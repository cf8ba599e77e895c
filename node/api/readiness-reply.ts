import type { IndexCounts } from '../steering/index-summary.ts'
import type { StartProgress } from '../catalog/admin/table-admin.ts'
import { jsonReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'

/**
 * Status 200 as long as requests are welcome. A text index that is built takes no node out of service:
 * documents are read and written meanwhile, and the searches that it refuses carry `Retry-After`. The
 * body tells of it, and of the tables that a start has opened so far.
 */
export function readinessReply(
  isReady: boolean,
  { building, failed, catchingUp, refusing, documentsBehind }: IndexCounts,
  opening?: StartProgress,
): BytesReply {
  const searches = refusing === 0 ? 'ready' : 'partly refused'
  return jsonReply(isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'not_ready',
    searches: isReady ? searches : 'not_ready',
    text_indexes: { building, failed, catching_up: catchingUp, refusing },
    documents_behind: documentsBehind,
    ...(opening === undefined ? {} : { tables: opening }),
  })
}
