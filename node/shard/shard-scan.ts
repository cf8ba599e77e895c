// A walk over a key range at one timestamp. It reads a snapshot of the store and replaces the rows that
// committed transactions had not resolved yet.
//
// Invariants:
//   INV-T5  A scan at a timestamp sees all of a transaction or nothing.
//   SC1     A scan below the collected history is refused, because it would miss rows.

import { ServiceError } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import type { KvEntry, KvSnapshot, KvStore } from '../storage/kv-store.ts'
import { decodeCollected } from './format/collected-mark.ts'
import { checkRecord, versionOf, type DocumentRecord } from './format/document-record.ts'
import { COLLECTED_KEY, documentRange, historyRange, keyOfDocumentKey } from './format/keyspace.ts'
import type { KeyRange } from './command/key-range.ts'
import type { OverlayRow } from './apply/shard-overlay.ts'
import type { ScanRow } from './shard.ts'
import { isVisible } from './format/visibility.ts'

/** A walk over one range of a snapshot. The walk owns the snapshot once it has begun. */
export interface SnapshotScan {
  readonly snapshot: KvSnapshot
  readonly range: KeyRange
  readonly at: Timestamp
  readonly ttl: TtlPolicy | undefined
  /** The time at which expiry is judged. */
  readonly nowMs: number
  /** In key order. */
  readonly overlay: readonly OverlayRow[]
  readonly signal: AbortSignal
}

/** Whether a reader at `nowMs` finds no document. */
export async function hasNoDocument(
  store: KvStore,
  { ttl, nowMs }: { readonly ttl: TtlPolicy | undefined; readonly nowMs: number },
): Promise<boolean> {
  const everything: KeyRange = { start: Buffer.alloc(0), end: undefined }
  for await (const page of store.pages(documentRange(everything))) {
    if (page.some(([, record]) => isVisible(record, ttl, nowMs))) return false
  }
  return true
}

/**
 * Yields pages of visible rows in key order, and closes the snapshot at the end. Throws at the call, and
 * leaves the snapshot open, when the timestamp is too old (SC1). A page is the reader's: what it takes out of the page
 * is held by nobody else.
 */
export function scanSnapshot(scan: SnapshotScan): AsyncGenerator<ScanRow[]> {
  const mark = scan.snapshot.get(COLLECTED_KEY)
  if (mark !== undefined && scan.at < decodeCollected(mark)) throw historyGone()
  return walk(scan)
}

/** The refusal of a reader whose timestamp lies below the collected history. */
export function historyGone(): ServiceError {
  return new ServiceError(
    'HISTORY_GONE',
    'the documents as they were at the time of this scan are not kept any more; scan anew, in smaller ranges',
  )
}

async function* walk(scan: SnapshotScan): AsyncGenerator<ScanRow[]> {
  await using snapshot = scan.snapshot
  const overlay = new OverlayMerger(scan.overlay)
  const pages = snapshot.pages(documentRange(scan.range))[Symbol.asyncIterator]()
  try {
    for (;;) {
      if (scan.signal.aborted) throw new ServiceError('CANCELLED', 'the scan was cancelled')
      // A frame that waits for its reader keeps all that it names, so it has no name for the store's page.
      const rows = await nextRows(scan, pages, overlay)
      if (rows === undefined) break
      if (rows.length > 0) yield rows
    }
  } finally {
    await pages.return?.()
  }
  const tail: ScanRow[] = []
  overlay.takeBefore(undefined, tail)
  if (tail.length > 0) yield tail
}

/** The visible rows of the store's next page; undefined at the end. */
async function nextRows(
  { snapshot, at, ttl, nowMs }: SnapshotScan,
  pages: AsyncIterator<readonly KvEntry[]>,
  overlay: OverlayMerger,
): Promise<ScanRow[] | undefined> {
  const next = await pages.next()
  if (next.done === true) return undefined
  const rows: ScanRow[] = []
  for (const [storedKey, value] of next.value) {
    const key = keyOfDocumentKey(storedKey)
    overlay.takeBefore(key, rows)
    if (overlay.take(key, rows)) continue
    const newest = checkRecord(value)
    const record = versionOf(newest) <= at ? newest : await versionAt(snapshot, key, at)
    if (record !== undefined && isVisible(record, ttl, nowMs)) rows.push({ key, record })
  }
  return rows
}

/** The version of an overwritten document that readers at `at` see. */
export async function versionAt(
  snapshot: Pick<KvSnapshot, 'pages'>,
  key: Buffer,
  at: Timestamp,
): Promise<DocumentRecord | undefined> {
  for await (const page of snapshot.pages({ ...historyRange(key, at), limit: 1 })) {
    const record = page[0]?.[1]
    return record === undefined ? undefined : checkRecord(record)
  }
  return undefined
}

/** Rows by ascending keys. Where both have a key, the row of `above` replaces the other. */
export function mergeRows(
  below: readonly OverlayRow[],
  above: readonly OverlayRow[],
): readonly OverlayRow[] {
  if (below.length === 0) return above
  const rows = new Map([...below, ...above].map((row) => [row.key.toString('latin1'), row]))
  return [...rows.values()].toSorted((a, b) => a.key.compare(b.key))
}

class OverlayMerger {
  readonly #rows: readonly OverlayRow[]
  #next = 0

  constructor(rows: readonly OverlayRow[]) {
    this.#rows = rows
  }

  /** Appends the overlay's rows below `key`: documents that the store does not have yet. */
  takeBefore(key: Buffer | undefined, into: ScanRow[]): void {
    for (;;) {
      const row = this.#rows[this.#next]
      if (row === undefined || (key !== undefined && row.key.compare(key) >= 0)) return
      this.#next++
      if (row.record !== undefined) into.push({ key: row.key, record: row.record })
    }
  }

  /** Whether the overlay replaces the store's row of `key`. */
  take(key: Buffer, into: ScanRow[]): boolean {
    const row = this.#rows[this.#next]
    if (row === undefined || !row.key.equals(key)) return false
    this.#next++
    if (row.record !== undefined) into.push({ key, record: row.record })
    return true
  }
}
