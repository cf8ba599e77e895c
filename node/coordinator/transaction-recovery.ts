// Finishing what others left behind (A.7.4): the records of this node's shards whose coordinator
// fell silent, and keys held here by transactions whose end nobody told us.
//
// Invariants:
//   INV-T11  Every intent is gone within two silence periods of its decision.

import type { Log } from '../../lib/log.ts'
import { TIMESTAMP_ZERO, type HybridClock } from '../clock/hybrid-clock.ts'
import type { Decision } from '../shard/command.ts'
import { TRANSACTION_SILENCE_MAX_MS, type LocalShard } from '../shard/local-shard.ts'
import type { ShardRouter, UnfinishedTransaction } from '../shard/shard.ts'
import type { TransactionFinisher } from './transaction-finisher.ts'

export const RECOVERY_PERIOD_MS = 1000

export interface TransactionRecoveryOptions {
  readonly router: ShardRouter
  readonly finisher: TransactionFinisher
  readonly hybridClock: HybridClock
  readonly log: Log
  /** The shards that this node leads, with the table each belongs to. */
  readonly shards: () => Iterable<{ readonly tableId: string; readonly shard: LocalShard }>
}

export class TransactionRecovery {
  readonly #with: TransactionRecoveryOptions

  constructor(options: TransactionRecoveryOptions) {
    this.#with = options
  }

  /** One round over all shards; failures are logged and met again in the next round. */
  async run(): Promise<void> {
    for (const { tableId, shard } of this.#with.shards()) {
      try {
        await this.#finishRecords(tableId, shard, TRANSACTION_SILENCE_MAX_MS)
        await this.#pushHolders(shard, TRANSACTION_SILENCE_MAX_MS)
      } catch (error) {
        this.#with.log.warn('transaction recovery failed', {
          shardId: shard.id,
          error: String(error),
        })
      }
    }
  }

  /**
   * At the start of the only process there is: every coordinator died with the last life, so
   * nothing needs to be waited for.
   */
  async recoverAll(): Promise<void> {
    for (const { tableId, shard } of this.#with.shards()) await this.drain(tableId, shard)
    for (const { shard } of this.#with.shards()) await this.#pushHolders(shard, -1)
  }

  /** Ends every transaction whose record lies on the shard, waiting for no one. */
  async drain(tableId: string, shard: LocalShard): Promise<void> {
    while (shard.unfinishedTransactions().length > 0) {
      await this.#finishRecords(tableId, shard, -1)
      await this.#with.finisher.idle()
    }
  }

  async #finishRecords(tableId: string, shard: LocalShard, silenceMs: number): Promise<void> {
    for (const transaction of shard.unfinishedTransactions()) {
      const { transactionId, participants, anchor } = transaction
      if (this.#with.finisher.isFinishing(transactionId)) continue
      if (transaction.status.state === 'pending' && transaction.idleMs <= silenceMs) continue
      const decision = await decisionOf(shard, transaction)
      this.#with.log.info('transaction recovered', { transactionId, state: decision.state })
      const address = { tableId, key: anchor }
      await this.#with.finisher.finish({ transactionId, participants, anchor: address }, decision)
    }
  }

  async #pushHolders(shard: LocalShard, silenceMs: number): Promise<void> {
    for (const { transactionId, anchor } of shard.oldHolders(silenceMs)) {
      const owner = this.#with.router.shardAt(anchor)
      const above = this.#with.hybridClock.readPoint()
      const status =
        owner === undefined
          ? ({ state: 'aborted' } as const)
          : await owner.push({ transactionId, anchor: anchor.key, above, expired: true })
      if (status.state !== 'pending') await shard.resolve({ transactionId, decision: status })
    }
  }
}

async function decisionOf(
  shard: LocalShard,
  { transactionId, anchor, status }: UnfinishedTransaction,
): Promise<Decision> {
  if (status.state !== 'pending') return status
  const commitAtLeast = TIMESTAMP_ZERO
  return shard.decide({ transactionId, anchor, decision: 'abort', commitAtLeast })
}
