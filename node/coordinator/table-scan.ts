// A range of one table at one timestamp, over as many shards as it takes.

import { ServiceError } from '../../lib/errors.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import { intersectRanges, keyAfter, type KeyRange } from '../shard/command/key-range.ts'
import { historyGone } from '../shard/shard-scan.ts'
import type { ScanRow } from '../shard/shard.ts'
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

/**
 * Walks the shards one after the other, all at the same timestamp. A pin keeps the history that later
 * shards will need, for at most PIN_MAX_MS. A consumer that takes longer gets HISTORY_GONE.
 */
export async function* scanTable(
  { hybridClock, pins }: TableScanOptions,
  { table, range, signal }: { table: OpenTable; range: KeyRange; signal: AbortSignal },
): AsyncGenerator<readonly ScanRow[]> {
  if (range.end !== undefined && range.start.compare(range.end) >= 0) return
  const at = hybridClock.readPoint()
  using scope = new DisposableStack()
  const pin = scope.use(pins.pin(at))
  for (const shard of table.shards) {
    const part = intersectRanges(range, shard.range)
    if (part === undefined) continue
    for await (const page of await shard.scan({ range: part, at, signal })) {
      if (!pin.isHeld()) throw historyGone()
      yield page
    }
  }
}
