import type { Clock } from '../../lib/clock.ts'
import type { HybridClock, Timestamp } from '../clock/hybrid-clock.ts'
import type { Command, CommandKind, OutcomeOf, TransactionStatus } from './command/command.ts'
import { assertOwns } from './apply/owned-keys.ts'
import type { KeyRange } from './command/key-range.ts'
import type { Push } from './shard.ts'
import type { ShardState } from './shard-state.ts'
import type { TransactionId } from './command/transaction-id.ts'

/** A reader or writer may abort a transaction that it meets when its coordinator has been silent for ten seconds. */
export const TRANSACTION_SILENCE_MAX_MS = 10_000

/** What the responder works with. `propose` rejects as `Shard.decide` does. */
export interface PushResponderOptions {
  readonly range: KeyRange
  readonly state: ShardState
  readonly clock: Clock
  readonly hybridClock: HybridClock
  /** Resolves when everything applied up to now is durable, or was refused and has left the memory. */
  settled(): Promise<void>
  propose<Kind extends CommandKind>(command: Command<Kind>): Promise<OutcomeOf[Kind]>
}

/** Answers the pushes of readers and writers at the shard that keeps the transaction's record. */
export class PushResponder {
  readonly #with: PushResponderOptions

  constructor(options: PushResponderOptions) {
    this.#with = options
  }

  /**
   * The durable state of the transaction. A pending one will commit above `push.above`. Throws RANGE_MOVED if another
   * shard keeps the record: this one would call the transaction unknown, and abort it.
   */
  async answer(push: Push): Promise<TransactionStatus> {
    assertOwns(this.#with.range, push.anchor)
    const { state, hybridClock } = this.#with
    const { transactionId, anchor, above, expired } = push
    hybridClock.observe(above) // so the commit lands above it, even if a crash loses the floor
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
    await this.#with.settled() // waits until the decision is durable, or refused
    return this.answer(push)
  }

  async #answerUnknown({ transactionId, above, expired }: Push): Promise<TransactionStatus> {
    const finished = this.#with.state.finished(transactionId)
    if (finished !== undefined) return finished
    if (expired) return this.#with.propose({ kind: 'abandon', transactionId })
    this.#raiseFloor(transactionId, above) // the prepare that begins it is under way
    return { state: 'pending' }
  }

  #raiseFloor(transactionId: TransactionId, above: Timestamp): void {
    const floors = this.#with.state.memory.pushFloors
    const floor = floors.get(transactionId)
    if (floor === undefined || above > floor) floors.set(transactionId, above)
  }
}
