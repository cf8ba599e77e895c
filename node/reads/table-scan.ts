// A range of one table at one timestamp, over as many shards as it takes.

import { ServiceError } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import { intersectRanges, keyAfter, type KeyRange } from '../shard/command/key-range.ts'
import { historyGone } from '../shard/shard-scan.ts'
import type { ScanRow, Shard } from '../shard/shard.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'
import type { ReadPast, ReadPins } from './read-pins.ts'
import { seekKeys } from './seek-keys.ts'

/** A range as clients give it. */
export interface ClientRange {
  readonly from: Buffer | undefined
  readonly to: Buffer | undefined
  readonly inclusiveFrom: boolean
  readonly exclusiveTo: boolean
}

/** Throws INVALID_ARGUMENT when the range is upside down. */
export function keyRangeOf({ from, to, inclusiveFrom, exclusiveTo }: ClientRange): KeyRange {
  if (from !== undefined && to !== undefined && from.compare(to) > 0) {
    throw new ServiceError('INVALID_ARGUMENT', 'from must not be after to; exchange them')
  }
  const start = from === undefined ? Buffer.alloc(0) : inclusiveFrom ? from : keyAfter(from)
  const end = to === undefined || exclusiveTo ? to : keyAfter(to)
  return { start, end }
}

/** What one scan reads, and until when. */
export interface ScannedTable {
  readonly table: Pick<OpenTable, 'shards'>
  readonly range: KeyRange
  /** Set if no other key is wanted. They are looked up, instead of a walk over the range. */
  readonly keys?: readonly Buffer[] | undefined
  readonly signal: AbortSignal
}

/**
 * Walks the shards one after the other, all at the same timestamp, which is not below anything that was
 * acknowledged before: each node gives timestamps by its own clock, so the shards are asked for theirs (0072). Pins
 * at the shards keep the history that a slow consumer still needs, for at most PIN_MAX_MS. One that takes longer
 * gets HISTORY_GONE.
 */
export async function* scanTable(
  pins: ReadPins,
  { table, range, keys, signal }: ScannedTable,
): AsyncGenerator<ScanRow[]> {
  if (range.end !== undefined && range.start.compare(range.end) >= 0) return
  const parts = table.shards.flatMap((shard) => {
    const part = intersectRanges(range, shard.range)
    return part === undefined ? [] : [{ shard, part }]
  })
  // One shard takes the timestamp itself, with the message that begins its scan.
  const isOneScan = parts.length === 1 && keys === undefined
  const at = isOneScan ? undefined : await momentOf(parts, signal)
  const past: ReadPast = { shards: parts.map(({ shard }) => shard), at }
  const sought = parts.map(({ shard, part }) => ({
    part,
    scan: (one: KeyRange) => shard.scan({ range: one, at, signal }),
  }))
  const pages = keys === undefined ? walkParts(parts, past, signal) : seekKeys(sought, keys)
  yield* pinned(pins, past, pages)
}

/** The pages, while what they are read from is kept. */
export async function* pinned(
  pins: ReadPins,
  past: ReadPast,
  pages: AsyncIterable<ScanRow[]>,
): AsyncGenerator<ScanRow[]> {
  using scope = new DisposableStack()
  const pin = scope.use(pins.pin(past))
  for await (const page of pages) {
    if (!pin.isHeld()) throw historyGone()
    yield page
  }
}

async function* walkParts(
  parts: readonly ScannedPart[],
  past: ReadPast,
  signal: AbortSignal,
): AsyncGenerator<ScanRow[]> {
  const onMoment = (at: Timestamp): void => {
    past.at = at
  }
  for (const { shard, part } of parts) {
    yield* await shard.scan({ range: part, at: past.at, signal, onMoment })
  }
}

interface ScannedPart {
  readonly shard: Shard
  readonly part: KeyRange
}

/** The newest moment of all shards, which are asked side by side. Those that are led here answer at once. */
async function momentOf(parts: readonly ScannedPart[], signal: AbortSignal): Promise<Timestamp> {
  const asked = parts.map(async ({ shard, part }) => shard.moment(part, { signal }))
  const moments = await Promise.all(asked)
  return moments.reduce((newest, moment) => (moment > newest ? moment : newest))
}
