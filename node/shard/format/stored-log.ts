import { assert } from '../../../lib/assert.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import { keyspaceRange, logKey, sequenceOfLogKey } from './keyspace.ts'
import { openLogEntry, type OpenedLogEntry } from './log-entry.ts'

/** A log entry with its sequence number. */
export interface NumberedEntry {
  readonly sequence: number
  readonly entry: OpenedLogEntry
}

/** Entries from `from` on, in order, in pages, as the log is at the call. */
export async function* readLog(
  store: KvStore,
  from: number,
): AsyncGenerator<readonly NumberedEntry[]> {
  const range = { gte: logKey(from), lt: keyspaceRange('log').lt }
  for await (const page of store.pages(range)) {
    yield page.map(([key, value]) => ({
      sequence: sequenceOfLogKey(key),
      entry: openLogEntry(value),
    }))
  }
}

/** The sequence of the log's first or last entry; undefined for an empty log. */
export async function endOfLog(
  store: KvStore,
  end: 'oldest' | 'newest',
): Promise<number | undefined> {
  const range = { ...keyspaceRange('log'), reverse: end === 'newest', limit: 1 }
  for await (const page of store.pages(range)) {
    const key = page[0]?.[0]
    assert(key !== undefined, 'a page has at least one entry')
    return sequenceOfLogKey(key)
  }
  return undefined
}
