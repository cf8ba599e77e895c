import type { Clock } from '../../../../lib/clock.ts'
import { isAnswering, waitWhileAnswering, type AnsweringFlag } from '../../host/answering-flag.ts'

/** A pause is worth its costs from here on. */
const PAUSE_MS_MIN = 0.5
/** Work earns pauses of at most 20 ms together: after a quiet hour a build does not stand still for an hour. */
const PAUSE_MS_MAX = 20

/** What a build gives way by. Tests pass their own. */
export interface GiveWayOptions {
  readonly flag: AnsweringFlag
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Default: waits until the question is answered, or `ms` have passed. */
  readonly wait?: (flag: AnsweringFlag, ms: number) => void
}

/**
 * Pauses a build while a question is answered: both would slow down each other, however many cores there are, because they
 * share caches and the way to memory. A build works for as long as it pauses, at least, so searches without an end do not
 * stop it.
 */
export class GiveWay {
  readonly #with: Required<GiveWayOptions>
  #sinceMs: number
  #allowedMs = 0

  constructor({ wait = waitWhileAnswering, ...options }: GiveWayOptions) {
    this.#with = { wait, ...options }
    this.#sinceMs = options.clock.monotonicMs()
  }

  /** Between two steps of a build. */
  pause(): void {
    const { flag, clock, wait } = this.#with
    const nowMs = clock.monotonicMs()
    this.#allowedMs = Math.min(PAUSE_MS_MAX, this.#allowedMs + nowMs - this.#sinceMs)
    this.#sinceMs = nowMs
    if (this.#allowedMs < PAUSE_MS_MIN || !isAnswering(flag)) return
    wait(flag, this.#allowedMs)
    this.#sinceMs = clock.monotonicMs()
    this.#allowedMs -= this.#sinceMs - nowMs
  }
}
