import type { LogId } from '../../journal/journal-format.ts'
import type { Journal } from '../../journal/journal.ts'
import type { LogPosition } from '../../journal/log-position.ts'

/**
 * By log, the position of the last snapshot that replaced it, as far as the journal still says so. Reads
 * the journal in one pass. Call it before anything is appended.
 */
export async function restartedLogs(
  journal: Pick<Journal, 'keptLogs'>,
  logIds: ReadonlySet<LogId>,
): Promise<ReadonlyMap<LogId, LogPosition>> {
  const restarted = new Map<LogId, LogPosition>()
  for (const [logId, { restartedAt }] of await journal.keptLogs(logIds)) {
    if (restartedAt !== undefined) restarted.set(logId, restartedAt)
  }
  return restarted
}
