// Reads the newest state of documents for an index, by the touches of the log or by a walk over the
// table. Both read the state of the moment. So an index that applies each step before the next step is
// read never replaces a document by an older one.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { SliceClock } from '../../../lib/sliced.ts'
import type { DocumentChange } from '../../index/host/document-batch.ts'
import type { OpenedLogEntry } from '../format/log-entry.ts'
import { readLog } from '../format/stored-log.ts'
import type { IndexSource } from './index-source.ts'

/** The most keys of one step. An entry that touches more is taken as a whole. */
const STEP_KEYS_MAX = 1000
/** The limit of one message to the index. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024
/** Reading is synchronous; other work gets its turn this often. */
const SLICE_MS = 1
/** The touches between two looks at the clock, which costs as much as several touches. */
const TOUCHES_BETWEEN_LOOKS = 256

/** A log, and what counts in it. */
export type TouchSource = Pick<IndexSource, 'store' | 'concerns'>

/** The keys that a run of log entries touched, each once. */
export interface TouchedKeys {
  readonly keys: readonly Buffer[]
  /** The last entry of the run. */
  readonly sequence: number
}

/**
 * The keys that concern the source, of the entries from `from` to `to`; CORRUPTION if the log does not reach back
 * that far.
 */
export async function readTouchedKeys(
  source: TouchSource,
  { from, to }: { readonly from: number; readonly to: number },
  clock: Clock,
): Promise<TouchedKeys> {
  const slice = new SliceClock(clock, SLICE_MS)
  const keys = new Map<string, Buffer>()
  let expected = from
  for await (const page of readLog(source.store, from)) {
    for (const { sequence, entry } of page) {
      if (sequence !== expected) throw missingEntry(expected)
      await addKeys(keys, { source, entry }, slice)
      if (sequence >= to || keys.size >= STEP_KEYS_MAX) {
        return { keys: [...keys.values()], sequence }
      }
      expected++
    }
  }
  throw missingEntry(expected)
}

async function addKeys(
  keys: Map<string, Buffer>,
  { source, entry }: { readonly source: TouchSource; readonly entry: OpenedLogEntry },
  slice: SliceClock,
): Promise<void> {
  let untilLook = TOUCHES_BETWEEN_LOOKS
  for (const touch of entry.touches) {
    const { key } = touch
    if (source.concerns(touch)) keys.set(key.toString('latin1'), key)
    untilLook--
    if (untilLook > 0) continue
    untilLook = TOUCHES_BETWEEN_LOOKS
    if (slice.isOver) await slice.turn()
  }
}

function missingEntry(sequence: number): ServiceError {
  return new ServiceError('CORRUPTION', `log entry ${sequence} was collected before it was indexed`)
}

/** The documents of the keys, in batches; the last batch may be empty and is marked. */
export async function* readChanges(
  source: IndexSource,
  keys: readonly Buffer[],
  clock: Clock,
): AsyncGenerator<{ readonly changes: readonly DocumentChange[]; readonly isLast: boolean }> {
  let changes: DocumentChange[] = []
  let bytes = 0
  let sliceEndMs = clock.monotonicMs() + SLICE_MS
  for (const key of keys) {
    const change = source.changeOf(key)
    changes.push(change)
    bytes += key.length + (change.json?.length ?? 0)
    if (bytes >= BATCH_BYTES_MAX || changes.length >= STEP_KEYS_MAX) {
      yield { changes, isLast: false }
      changes = []
      bytes = 0
    }
    if (clock.monotonicMs() < sliceEndMs) continue
    await nextTurn()
    sliceEndMs = clock.monotonicMs() + SLICE_MS
  }
  yield { changes, isLast: true }
}

/**
 * The keys of a walk through the table: behind `after`, or from the first, up to and including
 * `last`.
 */
export interface KeySpan {
  readonly after: Buffer | undefined
  readonly last: Buffer
}

/** The documents of the next page; none at the end of the span. */
export async function readNextDocuments(
  source: IndexSource,
  { after, last }: KeySpan,
  clock: Clock,
): Promise<{ readonly changes: readonly DocumentChange[]; readonly last: Buffer } | undefined> {
  const { gte } = source.range
  const from = after === undefined ? { gte } : { gt: source.placeOf(after) }
  for await (const page of source.store.pages({ ...from, lte: source.placeOf(last) })) {
    const slice = new SliceClock(clock, SLICE_MS)
    const changes: DocumentChange[] = []
    for (const [place, value] of page) {
      changes.push(source.changeAt(place, value))
      if (slice.isOver) await slice.turn()
    }
    const read = changes.at(-1)?.key
    return read === undefined ? undefined : { changes, last: Buffer.from(read) }
  }
  return undefined
}

/** The greatest key of the walk, deleted or not; undefined if there is none. */
export async function readLastKey(source: IndexSource): Promise<Buffer | undefined> {
  for await (const page of source.store.pages({ ...source.range, reverse: true, limit: 1 })) {
    const place = page[0]?.[0]
    return place === undefined ? undefined : Buffer.from(source.keyAt(place))
  }
  return undefined
}
