import type { Clock } from '../../../lib/clock.ts'

/** The same clock with another wall time. */
export function aheadBy(clock: Clock, aheadMs: number): Clock {
  return {
    nowMs: () => clock.nowMs() + aheadMs,
    monotonicMs: () => clock.monotonicMs(),
    uptimeMs: () => clock.uptimeMs(),
    after: (ms, act) => clock.after(ms, act),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    every: (periodMs, task) => clock.every(periodMs, task),
  }
}
