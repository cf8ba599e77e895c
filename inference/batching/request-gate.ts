// How many requests are served and how many may wait; the rest is refused at once, because a client
// that is told to come back is better off than one that waits in a queue without an end.

import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'

export interface GateLimits {
  readonly runningMax: number
  readonly waitingMax: number
}

/** Gives the place back; calling it twice is our bug. */
export type Permit = () => void

interface Waiter {
  readonly admit: () => void
}

export class RequestGate {
  readonly #limits: GateLimits
  /** In order of arrival. */
  readonly #waiters = new Set<Waiter>()
  #running = 0
  #rejected = 0

  constructor(limits: GateLimits) {
    this.#limits = limits
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiters.size
  }

  get rejected(): number {
    return this.#rejected
  }

  /** Resolves when it is this request's turn; rejects with OVERLOADED, or with the signal's reason. */
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

  /** The place goes to who has waited longest, without becoming free in between. */
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
