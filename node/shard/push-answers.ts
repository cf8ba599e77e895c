// How the shard of a transaction's record answers those who meet the transaction's holds.

import type { Clock } from '../../lib/clock.ts'
import type { HybridClock, Timestamp } from '../clock/hybrid-clock.ts'
import type { Command, CommandKind, OutcomeOf, TransactionStatus } from './apply/command.ts'
import type { Push } from './shard.ts'
import type { ShardState } from './shard-state.ts'
import type { TransactionId } from './transaction-id.ts'

/** A transaction that has been silent for this long may be aborted by whoever is in its way. */
export const TRANSACTION_SILENCE_MAX_MS = 10_000

export interface PushAnswersOptions {
  readonly state: ShardState
  readonly clock: Clock
  readonly hybridClock: HybridClock
  /** Resolves when everything applied up to now is durable, or was refused and has left the memory. */
  settled(): Promise<void>
  propose<Kind extends CommandKind>(command: Command<Kind>): Promise<OutcomeOf[Kind]>
}

export class PushAnswers {
  readonly #with: PushAnswersOptions

  constructor(options: PushAnswersOptions) {
    this.#with = options
  }

  async answer(push: Push): Promise<TransactionStatus> {
    const { state, hybridClock } = this.#with
    const { transactionId, anchor, above, expired } = push
    hybridClock.observe(above) // and so the commit lands above it, whatever is lost
    const live = state.memory.live.get(transactionId)
    if (live === undefined) return this.#answerUnknown(push)
    if (live.status.state === 'pending') {
      const silentMs = this.#with.clock.monotonicMs() - live.heardAtMs
      if (expired && silentMs > TRANSACTION_SILENCE_MAX_MS) {
        const abort = { transactionId, anchor, decision: 'abort', commitAtLeast: above } as const
        return this.#with.propose({ kind: 'decide', ...abort })
      }
      this.#raiseFloor(transactionId, above)
      return live.status
    }
    if (state.isDurable(live)) return live.status
    await this.#with.settled() // the group that carries the decision, or the end of its failure
    return this.answer(push)
  }

  async #answerUnknown({ transactionId, above, expired }: Push): Promise<TransactionStatus> {
    const finished = this.#with.state.finished(transactionId)
    if (finished !== undefined) return finished
    if (expired) return this.#with.propose({ kind: 'abandon', transactionId })
    this.#raiseFloor(transactionId, above) // its begin is on the way
    return { state: 'pending' }
  }

  #raiseFloor(transactionId: TransactionId, above: Timestamp): void {
    const floors = this.#with.state.memory.pushFloors
    const floor = floors.get(transactionId)
    if (floor === undefined || above > floor) floors.set(transactionId, above)
  }
}
