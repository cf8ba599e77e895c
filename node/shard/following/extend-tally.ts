import type { Clock } from '../../../lib/clock.ts'
import { SliceClock } from '../../../lib/sliced.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import { readLog } from '../format/stored-log.ts'
import { LogTally, tallyOfTouches } from './log-tally.ts'

/** Whose newest entries were counted. */
export interface TalliedLog {
  readonly store: KvStore
  readonly tally: LogTally
}

/** Counts the entries behind `from` that came before the tally began, as far as the log still has them all. */
export async function extendTally(
  { store, tally }: TalliedLog,
  from: number,
  clock: Clock,
): Promise<void> {
  const { begin } = tally
  if (from >= begin) return
  const slice = new SliceClock(clock)
  const earlier = new LogTally(from)
  let expected = from + 1
  for await (const page of readLog(store, expected)) {
    for (const { sequence, entry } of page) {
      if (sequence !== expected) return
      if (sequence > begin) return tally.extend(earlier)
      earlier.note(sequence, tallyOfTouches(entry.touches))
      expected++
      if (slice.isOver) await slice.turn()
    }
  }
  if (expected === begin + 1) tally.extend(earlier)
}
