import { ServiceError } from '../../../lib/errors.ts'

interface Waiter {
  readonly sequence: number
  readonly done: PromiseWithResolvers<void>
}

/** The callers that wait until an index has applied a log entry. */
export class SequenceWaiters {
  readonly #waiters = new Set<Waiter>()

  /** Rejects with the signal's reason, or with UNAVAILABLE when the follower has stopped. */
  async wait(sequence: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const waiter: Waiter = { sequence, done: Promise.withResolvers() }
    const onAbort = (): void => waiter.done.reject(signal.reason)
    this.#waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await waiter.done.promise
    } finally {
      this.#waiters.delete(waiter)
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Settles the callers that wait for an entry above one, up to and including another. */
  reached({ above, upTo }: { readonly above: number; readonly upTo: number }): void {
    for (const { sequence, done } of this.#waiters) {
      if (sequence > above && sequence <= upTo) done.resolve()
    }
  }

  closeAll(): void {
    const error = new ServiceError('UNAVAILABLE', 'the index was closed')
    for (const { done } of this.#waiters) done.reject(error)
  }
}
