import type { Sliced } from '../../../lib/sliced.ts'
import { STOP_REASONS, stoppedError, type StopFlag } from './protocol.ts'

/** Looks at the flag before each step: even the first may have waited long for its turn. */
export function* unlessStopped<Result>(work: Sliced<Result>, stop: StopFlag): Sliced<Result> {
  try {
    for (;;) {
      const reason = Atomics.load(stop, 0)
      if (reason !== STOP_REASONS.none) throw stoppedError(reason)
      const step = work.next()
      if (step.done === true) return step.value
      yield
    }
  } finally {
    // A question that is stopped gives back what it holds.
    leave(work)
  }
}

function leave(work: Iterator<unknown>): void {
  work.return?.()
}
