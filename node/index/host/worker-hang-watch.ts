import type { Clock } from '../../../lib/clock.ts'
import { seenProgress, type ProgressMemory, type SeenProgress } from './worker-progress.ts'

/** A hang shows the same progress at this many looks. After one look the process may have been asleep. */
const LOOKS = 4

/** The progress to watch, and the callback for a hang. */
export interface HangWatchOptions {
  readonly clock: Clock
  /** A slice that takes longer is a hang. */
  readonly hangMs: number
  readonly progress: ProgressMemory
  /** Called once, with what the worker is at. */
  readonly onHang: (seen: SeenProgress) => void
}

/** Looks at a worker's progress until it hangs or the watch is stopped. */
export function watchForHang({ clock, hangMs, progress, onHang }: HangWatchOptions): () => void {
  let beats = -1
  let looks = 0
  const look = async (): Promise<void> => {
    const seen = seenProgress(progress)
    const isSame = seen.operation !== 'idle' && seen.beats === beats
    beats = seen.beats
    looks = isSame ? looks + 1 : 0
    if (looks < LOOKS) return
    void stop()
    onHang(seen)
  }
  const stop = clock.every(hangMs / LOOKS, look)
  return () => void stop()
}
