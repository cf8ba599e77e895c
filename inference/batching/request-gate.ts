// Limits how many requests are served and how many wait. The gate refuses further requests at once:
// a client can retry after a refusal, but it cannot know how long an unbounded queue would take.

import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'

/** The numbers of requests that may run and that may wait for a permit. */
export interface GateLimits {
  readonly runningMax: number
  readonly waitingMax: number
}

/** Gives the place back. The holder calls it exactly once; a second call fails an assertion. */
export type Permit = () => void

interface Waiter {
  readonly admit: () => void
}

/**
 * Admits requests in order of arrival. Each admitted request holds one permit until it gives it
 * back, so at most `runningMax` run at once.
 */
export class RequestGate {
  readonly #limits: GateLimits
  /** In order of arrival. */
  readonly #waiters = new Set<Waiter>()
  #running = 0
  #rejected = 0

  constructor(limits: GateLimits) {
    this.#limits = limits
  }

  /** The number of requests that hold a permit. */
  get running(): number {
    return this.#running
  }

  /** The number of requests that wait for a permit. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** The number of requests refused with OVERLOADED since the start. */
  get rejected(): number {
    return this.#rejected
  }

  /**
   * Resolves to a permit when the request may run. Rejects with OVERLOADED when too many requests
   * wait, and with the signal's reason when the signal aborts first.
   */
  async enter(signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted()
    if (this.#running < this.#limits.runningMax) this.#running += 1
    else await this.#wait(signal)
    let isHeld = true
    return () => {
      assert(isHeld, 'a place is given back once')
      isHeld = false
      this.#leave()
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiters.size >= this.#limits.waitingMax) {
      this.#rejected += 1
      throw new ServiceError('OVERLOADED', 'service overloaded, please retry later')
    }
    const turn = Promise.withResolvers<void>()
    const waiter = { admit: () => turn.resolve() }
    const onAbort = (): void => {
      this.#waiters.delete(waiter)
      turn.reject(signal.reason)
    }
    this.#waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await turn.promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /**
   * The place passes directly to the request that has waited longest, so a newcomer cannot take it.
   */
  #leave(): void {
    const [next] = this.#waiters
    if (next === undefined) {
      this.#running -= 1
      return
    }
    this.#waiters.delete(next)
    next.admit()
  }
}
