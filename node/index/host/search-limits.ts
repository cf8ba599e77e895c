import type { Clock } from '../../../lib/clock.ts'
import { STOP_REASONS, stoppedError, type StopFlag } from './protocol.ts'

/** The longest delay of a timer in milliseconds. */
const DEADLINE_MAX_MS = 2 ** 31 - 1

/** The limits of one question. The first limit that is met ends it. */
export interface SearchLimits {
  readonly signal: AbortSignal
  /** The monotonic time in milliseconds at which the question is given up. */
  readonly deadlineMs: number
}

/** Asks a worker with a flag that ends the question there, too. Rejects as soon as a limit is met; the worker follows. */
export async function withinLimits<Answer>(
  { signal, deadlineMs }: SearchLimits,
  clock: Clock,
  ask: (stop: StopFlag) => Promise<Answer>,
): Promise<Answer> {
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const end = (reason: number): void => {
    Atomics.store(stop, 0, reason)
    reject(stoppedError(reason))
  }
  const onAbort = (): void => end(STOP_REASONS.cancelled)
  const leftMs = deadlineMs - clock.monotonicMs()
  if (signal.aborted) throw stoppedError(STOP_REASONS.cancelled)
  if (leftMs <= 0) throw stoppedError(STOP_REASONS.deadline)
  signal.addEventListener('abort', onAbort, { once: true })
  const stopTimer = clock.after(Math.min(leftMs, DEADLINE_MAX_MS), () => end(STOP_REASONS.deadline))
  try {
    return await Promise.race([ask(stop), stopped])
  } finally {
    stopTimer()
    signal.removeEventListener('abort', onAbort)
  }
}
