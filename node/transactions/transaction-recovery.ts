// Ends transactions after a crash. A round aborts or finishes each record on this node's shards
// whose coordinator is silent. For keys held here by other transactions it asks their records.
//
// Invariants:
//   INV-T11  Every intent is gone within two silence periods of its decision.

import { ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { TIMESTAMP_ZERO, type HybridClock } from '../clock/hybrid-clock.ts'
import type { Decision } from '../shard/command/command.ts'
import type { LedShard, UnfinishedTransaction } from '../shard/led-shard.ts'
import { TRANSACTION_SILENCE_MAX_MS } from '../shard/push-responder.ts'
import type { Shard } from '../shard/shard.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import type { TransactionFinisher } from './transaction-finisher.ts'

export const RECOVERY_PERIOD_MS = 1000

/** What recovery works with. `router` finds the shards of other tables and nodes. */
export interface TransactionRecoveryOptions {
  readonly router: ShardRouter
  readonly finisher: TransactionFinisher
  readonly hybridClock: HybridClock
  readonly log: Log
  /** The shards that this node leads. */
  readonly shards: () => readonly LedShard[]
  /**
   * Whether no other process coordinates transactions of these shards. Only then did every coordinator
   * die when this process began.
   */
  readonly isOnlyProcess: boolean
}

/** Ends the transactions that their coordinators left behind. Each call of `run` is one round. */
export class TransactionRecovery {
  readonly #with: TransactionRecoveryOptions
  #recovered = 0

  constructor(options: TransactionRecoveryOptions) {
    this.#with = options
  }

  /** The number of transactions that recovery has ended in this process. */
  get recovered(): number {
    return this.#recovered
  }

  /** One round over all shards; failures are logged and met again in the next round. */
  async run(): Promise<void> {
    await this.#round(TRANSACTION_SILENCE_MAX_MS)
  }

  /**
   * The first round, before the node serves. If this is the only process, every coordinator died with
   * the process before it, so recovery ends all transactions at once. Among other processes it is a
   * round like any other, because their transactions are alive. A transaction that a damaged shard
   * blocks stays open, and `run` tries it again.
   */
  async runAtStart(): Promise<void> {
    await this.#round(this.#with.isOnlyProcess ? undefined : TRANSACTION_SILENCE_MAX_MS)
  }

  /**
   * Ends every transaction whose record lies on the shard, which is sealed. Throws UNAVAILABLE when
   * one cannot end, because another shard must hear of it first and does not answer.
   */
  async drain(shard: LedShard): Promise<void> {
    await this.#finishRecords(shard, undefined)
    await this.#with.finisher.idle()
    await this.#finishRecords(shard, undefined) // the finisher may have failed on some
    const left = shard.unfinishedTransactions().length
    if (left === 0) return
    throw new ServiceError(
      'UNAVAILABLE',
      `${left} transactions cannot end before another shard serves again; see the cluster status`,
    )
  }

  /** `silenceMs` undefined: ends all transactions, however recent their last heartbeat is. */
  async #round(silenceMs: number | undefined): Promise<void> {
    const shards = this.#with.shards()
    for (const shard of shards) {
      await this.#try(shard, () => this.#finishRecords(shard, silenceMs))
    }
    for (const shard of shards) {
      await this.#try(shard, () => this.#pushHolders(shard, silenceMs))
    }
  }

  async #try({ id, tableName }: LedShard, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const fields = { table: tableName, shardId: id, error: String(error) }
      this.#with.log.warn('transaction recovery failed', fields)
    }
  }

  async #finishRecords(shard: LedShard, silenceMs: number | undefined): Promise<void> {
    for (const transaction of shard.unfinishedTransactions()) {
      const { transactionId, participants, anchor } = transaction
      if (this.#with.finisher.isFinishing(transactionId)) continue
      const isSilent = silenceMs === undefined || transaction.idleMs > silenceMs
      if (transaction.status.state === 'pending' && !isSilent) continue
      const decision = await decisionOf(shard.shard, transaction)
      this.#recovered += 1
      const table = shard.tableName
      this.#with.log.info('transaction recovered', { transactionId, table, state: decision.state })
      const address = { tableId: shard.tableId, key: anchor }
      const ended = { transactionId, participants, anchor: address }
      await this.#with.finisher.finish(ended, decision, { isAwaited: true }).done
    }
  }

  async #pushHolders(led: LedShard, silenceMs: number | undefined): Promise<void> {
    for (const { transactionId, anchor } of led.holders(silenceMs)) {
      const route = await this.#with.router.shardAt(anchor)
      if (route.kind === 'unknown') continue // the next round asks again
      const above = this.#with.hybridClock.readPoint()
      const status =
        route.kind === 'gone'
          ? ({ state: 'aborted' } as const)
          : await route.shard.push({ transactionId, anchor: anchor.key, above, expired: true })
      if (status.state !== 'pending') await led.shard.resolve({ transactionId, decision: status })
    }
  }
}

async function decisionOf(
  shard: Shard,
  { transactionId, anchor, status }: UnfinishedTransaction,
): Promise<Decision> {
  if (status.state !== 'pending') return status
  const commitAtLeast = TIMESTAMP_ZERO
  return shard.decide({ transactionId, anchor, decision: 'abort', commitAtLeast })
}
