import type { Clock } from '../../lib/clock.ts'
import type { TransactionId } from './command/transaction-id.ts'

/** The callers that wait until a transaction has released its keys. */
export class ReleaseWaiters {
  readonly #clock: Clock
  readonly #waiting = new Map<TransactionId, Set<() => void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves at the release or after `timeoutMs`; rejects with the signal's reason. */
  async wait(
    transactionId: TransactionId,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiters = this.#waiting.get(transactionId) ?? new Set()
    this.#waiting.set(transactionId, waiters.add(resolve))
    const over = new AbortController()
    const limit = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
    const timeout = this.#clock.sleep(timeoutMs, limit).catch((reason: unknown) => {
      if (signal?.aborted === true) throw reason
    })
    try {
      await Promise.race([promise, timeout])
    } finally {
      over.abort()
      waiters.delete(resolve)
      if (waiters.size === 0) this.#waiting.delete(transactionId)
    }
  }

  wake(transactionIds: readonly TransactionId[]): void {
    for (const transactionId of transactionIds) {
      for (const resolve of this.#waiting.get(transactionId) ?? []) resolve()
    }
  }
}
