import type { Log } from '../../lib/log.ts'
import type { Decision, ShardAddress } from '../shard/command.ts'
import type { ShardRouter } from '../shard/shard.ts'
import type { TransactionId } from '../shard/transaction-id.ts'

/** Beyond this many unresolved commits, new ones wait: resolving must keep up with deciding. */
export const UNRESOLVED_COMMITS_MAX = 1024

export interface FinishableTransaction {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly participants: readonly ShardAddress[]
}

/**
 * Tells the participants how a transaction ended and then drops its record: in the background after
 * the answer, by recovery after a crash. Both may do it; repeating it is harmless.
 */
export class TransactionFinisher {
  readonly #router: ShardRouter
  readonly #log: Log
  readonly #running = new Map<TransactionId, Promise<void>>()

  constructor(router: ShardRouter, log: Log) {
    this.#router = router
    this.#log = log
  }

  /** Never rejects: what fails is left to recovery, which meets the record again. */
  finish(transaction: FinishableTransaction, decision: Decision): Promise<void> {
    const { transactionId } = transaction
    const known = this.#running.get(transactionId)
    if (known !== undefined) return known
    const running = this.#finish(transaction, decision)
      .catch((error: unknown) => {
        this.#log.warn('transaction left to recovery', { transactionId, error: String(error) })
      })
      .finally(() => this.#running.delete(transactionId))
    this.#running.set(transactionId, running)
    return running
  }

  isFinishing(transactionId: TransactionId): boolean {
    return this.#running.has(transactionId)
  }

  /** Resolves as soon as there is room for another unresolved commit. */
  async room(): Promise<void> {
    while (this.#running.size > UNRESOLVED_COMMITS_MAX) await Promise.race(this.#running.values())
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #finish(
    { transactionId, anchor, participants }: FinishableTransaction,
    decision: Decision,
  ): Promise<void> {
    // A participant whose table is gone has nothing left to resolve.
    const shards = participants
      .map((address) => this.#router.shardAt(address))
      .filter((shard) => shard !== undefined)
    await Promise.all(shards.map((shard) => shard.resolve({ transactionId, decision })))
    await this.#router.shardAt(anchor)?.forget(transactionId, anchor.key)
  }
}
