// Telling the participants how a transaction ended, and then dropping its record: in the background
// after the answer, by recovery after a crash. Both may do it; repeating it is harmless.
//
// Invariants:
//   INV-T6  A record goes only after every participant has made its resolution durable: resolutions are
//           written without a sync of their own, so `forgetResolved` syncs all participants first.

import type { Log } from '../../../lib/log.ts'
import type { Decision, ShardAddress } from '../../shard/apply/command.ts'
import type { Shard, ShardRouter } from '../../shard/shard.ts'
import type { TransactionId } from '../../shard/transaction-id.ts'

/** Beyond this many unresolved commits, new ones wait: resolving must keep up with deciding. */
export const UNRESOLVED_COMMITS_MAX = 1024
/** Beyond this many records to be dropped, it is done at once and not in the next round. */
export const RESOLVED_RECORDS_MAX = 1024
export const FORGET_PERIOD_MS = 500

export interface FinishableTransaction {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly participants: readonly ShardAddress[]
}

export class TransactionFinisher {
  readonly #router: ShardRouter
  readonly #log: Log
  readonly #resolving = new Map<TransactionId, Promise<void>>()
  #resolved = new Map<TransactionId, FinishableTransaction>()
  #forgetting: Promise<void> | undefined

  constructor(router: ShardRouter, log: Log) {
    this.#router = router
    this.#log = log
  }

  /**
   * Resolves when every participant shows the outcome. Never rejects: what fails is left to
   * recovery, which meets the record again.
   */
  finish(transaction: FinishableTransaction, decision: Decision): Promise<void> {
    const { transactionId } = transaction
    const known = this.#resolving.get(transactionId)
    if (known !== undefined) return known
    const resolving = this.#resolve(transaction, decision)
      .catch((error: unknown) => this.#leaveToRecovery(transactionId, error))
      .finally(() => this.#resolving.delete(transactionId))
    this.#resolving.set(transactionId, resolving)
    return resolving
  }

  isFinishing(transactionId: TransactionId): boolean {
    return this.#resolving.has(transactionId) || this.#resolved.has(transactionId)
  }

  /** Resolves as soon as there is room for another unresolved commit. */
  async room(): Promise<void> {
    while (this.#resolving.size > UNRESOLVED_COMMITS_MAX) {
      await Promise.race(this.#resolving.values())
    }
  }

  /** Ends everything that was begun before the call. */
  async idle(): Promise<void> {
    await Promise.all(this.#resolving.values())
    await this.#forgetting
    await this.forgetResolved()
  }

  /** Drops the records of all resolved transactions, for one sync of each shard they touched. */
  forgetResolved(): Promise<void> {
    this.#forgetting ??= this.#forgetAll().finally(() => {
      this.#forgetting = undefined
    })
    return this.#forgetting
  }

  async #resolve(transaction: FinishableTransaction, decision: Decision): Promise<void> {
    const { transactionId } = transaction
    const shards = this.#participantsOf(transaction)
    await Promise.all(shards.map((shard) => shard.resolve({ transactionId, decision })))
    this.#resolved.set(transactionId, transaction)
    if (this.#resolved.size > RESOLVED_RECORDS_MAX) void this.forgetResolved()
  }

  async #forgetAll(): Promise<void> {
    const resolved = this.#resolved
    if (resolved.size === 0) return
    const shards = new Set([...resolved.values()].flatMap((one) => this.#participantsOf(one)))
    const synced = new Map<Shard, boolean>()
    await Promise.all(
      [...shards].map(async (shard) => synced.set(shard, await this.#trySync(shard))),
    )
    for (const [transactionId, transaction] of resolved) {
      if (this.#participantsOf(transaction).every((shard) => synced.get(shard) === true)) {
        await this.#forget(transaction)
      }
      this.#resolved.delete(transactionId)
    }
  }

  async #forget({ transactionId, anchor }: FinishableTransaction): Promise<void> {
    try {
      await this.#router.shardAt(anchor)?.forget(transactionId, anchor.key)
    } catch (error) {
      this.#leaveToRecovery(transactionId, error)
    }
  }

  async #trySync(shard: Shard): Promise<boolean> {
    try {
      await shard.sync()
      return true
    } catch (error) {
      this.#log.warn('shard does not sync', { shardId: shard.id, error: String(error) })
      return false
    }
  }

  /** A participant whose table is gone has nothing left to resolve. */
  #participantsOf({ participants }: FinishableTransaction): readonly Shard[] {
    return participants
      .map((address) => this.#router.shardAt(address))
      .filter((shard) => shard !== undefined)
  }

  #leaveToRecovery(transactionId: TransactionId, error: unknown): void {
    this.#log.warn('transaction left to recovery', { transactionId, error: String(error) })
  }
}
