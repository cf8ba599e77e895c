// A range of one table at one timestamp, over as many shards as it takes.

import { ServiceError } from '../../lib/errors.ts'
import type { HybridClock, Timestamp } from '../clock/hybrid-clock.ts'
import { intersectRanges, keyAfter, type KeyRange } from '../shard/command/key-range.ts'
import { historyGone } from '../shard/shard-scan.ts'
import type { ScanRow, Shard } from '../shard/shard.ts'
import type { OpenTable } from './tables/open-table.ts'
import type { ReadPins } from './read-pins.ts'

/** `hybridClock` gives a scan its timestamp, and `pins` keep the history that it still needs. */
export interface TableScanOptions {
  readonly hybridClock: HybridClock
  readonly pins: ReadPins
}

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
  readonly signal: AbortSignal
}

/**
 * Walks the shards one after the other, all at the same timestamp, which is not below anything that was
 * acknowledged before: each node gives timestamps by its own clock, so the shards are asked for theirs (0072). A
 * pin keeps the history that later shards will need, for at most PIN_MAX_MS. A consumer that takes longer gets
 * HISTORY_GONE.
 */
export async function* scanTable(
  { hybridClock, pins }: TableScanOptions,
  { table, range, signal }: ScannedTable,
): AsyncGenerator<ScanRow[]> {
  if (range.end !== undefined && range.start.compare(range.end) >= 0) return
  const parts = table.shards.flatMap((shard) => {
    const part = intersectRanges(range, shard.range)
    return part === undefined ? [] : [{ shard, part }]
  })
  // One shard takes the timestamp itself, with the message that begins its scan.
  const at = parts.length > 1 ? await momentOf(parts, signal) : undefined
  using scope = new DisposableStack()
  const pin = scope.use(pins.pin(at ?? hybridClock.readPoint()))
  for (const { shard, part } of parts) {
    for await (const page of await shard.scan({ range: part, at, signal })) {
      if (!pin.isHeld()) throw historyGone()
      yield page
    }
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
