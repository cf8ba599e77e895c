// Tells the participants how a transaction ended, and then drops its record. It runs in the background
// after the client's answer, and in recovery after a crash. Repeating it is harmless.
//
// Invariants:
//   INV-T6  A record goes only after every participant has answered its resolution, which is durable then.

import type { Clock } from '../../lib/clock.ts'
import { answerWithin } from '../../lib/deadline.ts'
import type { Log } from '../../lib/log.ts'
import type { Decision, KeyInterval, ShardAddress } from '../shard/command/command.ts'
import type { Shard } from '../shard/shard.ts'
import { unknownRoute, type ShardRouter } from '../shard/shard-router.ts'
import type { TransactionId } from '../shard/command/transaction-id.ts'

/** With more unresolved commits than this, new ones wait, so that resolving keeps up with deciding. */
const UNRESOLVED_COMMITS_MAX = 1024
/** With more resolved records than this, the finisher drops them before the next round is due. */
const RESOLVED_RECORDS_MAX = 1024
export const FORGET_PERIOD_MS = 500
/** How long the end of the process waits for shards, which may be gone by then. */
export const END_MS_MAX = 2000

/**
 * What recovery and the coordinator know of a transaction that is to end: its record's place and
 * its participants.
 */
export interface FinishableTransaction {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly participants: readonly KeyInterval[]
}

/** A transaction's end on its way to the participants. Neither promise rejects (see the finisher). */
export interface Finishing {
  /** Resolves when every participant has released the keys and shows the outcome. */
  readonly released: Promise<void>
  /** Resolves when the release is durable on every participant. */
  readonly done: Promise<void>
  /** Ends waits for shared writes of the disk, because a caller waits for `done`. */
  hurry(): void
}

/** The parts of a finisher, which closes none of them. */
export interface TransactionFinisherOptions {
  readonly router: ShardRouter
  readonly clock: Clock
  readonly log: Log
}

/**
 * Resolves decided transactions on their participants, then forgets their records (INV-T6). It
 * never rejects: recovery takes over each failure.
 */
export class TransactionFinisher {
  readonly #router: ShardRouter
  readonly #clock: Clock
  readonly #log: Log
  readonly #resolving = new Map<TransactionId, Finishing>()
  /** Resolved since the round of forgetting that runs now, if one runs. */
  #resolved = new Map<TransactionId, FinishableTransaction>()
  /** The transactions whose records the running round drops. */
  #leaving: ReadonlyMap<TransactionId, FinishableTransaction> = new Map()
  #forgetting: Promise<void> | undefined
  #isEnding = false

  constructor({ router, clock, log }: TransactionFinisherOptions) {
    this.#router = router
    this.#clock = clock
    this.#log = log
  }

  /**
   * Tells every participant. Recovery takes over a failure, because it finds the record again. With
   * `isAwaited` false the resolutions may wait some milliseconds for other writes of the same disk.
   */
  finish(
    transaction: FinishableTransaction,
    decision: Decision,
    { isAwaited }: { readonly isAwaited: boolean },
  ): Finishing {
    const { transactionId } = transaction
    const known = this.#resolving.get(transactionId)
    if (known !== undefined) {
      if (isAwaited) known.hurry()
      return known
    }
    const ending = new Ending(decision, isAwaited)
    const done = this.#resolveAll(transaction, ending)
    const finishing = { released: ending.released, done, hurry: () => ending.hurry() }
    this.#resolving.set(transactionId, finishing)
    return finishing
  }

  isFinishing(transactionId: TransactionId): boolean {
    return [this.#resolving, this.#resolved, this.#leaving].some((map) => map.has(transactionId))
  }

  /** Resolves as soon as there is room for another unresolved commit. */
  async room(): Promise<void> {
    while (this.#resolving.size > UNRESOLVED_COMMITS_MAX) {
      const [oldest] = this.#resolving.values()
      oldest?.hurry()
      await Promise.race(this.#resolving.values().map(({ done }) => done))
    }
  }

  /** Ends everything that was begun before the call. */
  async idle(): Promise<void> {
    const begun = [...this.#resolving.values()]
    for (const finishing of begun) finishing.hurry()
    await Promise.all(begun.map(({ done }) => done))
    await this.#forgetting
    await this.forgetResolved()
  }

  /**
   * The process ends: as `idle`, but for END_MS_MAX at most. What is left then is left to recovery, and what is under
   * way ends with its shards.
   */
  async end(): Promise<void> {
    await answerWithin(this.idle(), { clock: this.#clock, ms: END_MS_MAX })
    this.#isEnding = true
  }

  /** Drops the records of all resolved transactions. */
  forgetResolved(): Promise<void> {
    this.#forgetting ??= this.#forgetAll().finally(() => {
      this.#leaving = new Map()
      this.#forgetting = undefined
    })
    return this.#forgetting
  }

  async #resolveAll(transaction: FinishableTransaction, ending: Ending): Promise<void> {
    const { transactionId } = transaction
    try {
      await ending.tell(transactionId, await this.#participantsOf(transaction))
      this.#resolved.set(transactionId, transaction)
    } catch (error) {
      this.#leaveToRecovery(transactionId, error)
    }
    ending.release()
    this.#resolving.delete(transactionId)
    if (this.#resolved.size > RESOLVED_RECORDS_MAX) void this.forgetResolved()
  }

  async #forgetAll(): Promise<void> {
    this.#leaving = this.#resolved
    this.#resolved = new Map()
    const failed = new Set<Shard>()
    for (const transaction of this.#leaving.values()) {
      if (this.#isEnding) return
      await this.#forget(transaction, failed)
    }
  }

  /** A shard that failed is asked no more in this round: it may take until a deadline each time, and others wait. */
  async #forget(
    { transactionId, anchor }: FinishableTransaction,
    failed: Set<Shard>,
  ): Promise<void> {
    let shard: Shard | undefined
    try {
      const route = await this.#router.shardAt(anchor)
      if (route.kind === 'gone') return // and the record with its table
      if (route.kind === 'unknown') throw unknownRoute(anchor, route.reason)
      shard = route.shard
      if (!failed.has(shard)) await shard.forget(transactionId, anchor.key)
    } catch (error) {
      if (shard !== undefined) failed.add(shard)
      this.#leaveToRecovery(transactionId, error)
    }
  }

  /**
   * Every shard that may hold a part by the present map: a participant may have been split since it
   * prepared. A participant whose table is gone has nothing left to resolve. If a shard cannot be found
   * now, this throws: recovery finishes the transaction later, and its record stays (INV-T6).
   */
  async #participantsOf({ participants }: FinishableTransaction): Promise<readonly Shard[]> {
    const shards = new Set<Shard>()
    for (const interval of participants) {
      const found = await this.#router.shardsMeeting(interval)
      if (found.kind === 'unknown') throw unknownRoute(interval, found.reason)
      if (found.kind === 'shards') for (const shard of found.shards) shards.add(shard)
    }
    return [...shards]
  }

  #leaveToRecovery(transactionId: TransactionId, error: unknown): void {
    this.#log.warn('transaction left to recovery', { transactionId, error: String(error) })
  }
}

/** Tells one transaction's end to the shards of its participants. */
class Ending {
  readonly #decision: Decision
  readonly #released = Promise.withResolvers<void>()
  #isAwaited: boolean
  #told: readonly Shard[] = []

  constructor(decision: Decision, isAwaited: boolean) {
    this.#decision = decision
    this.#isAwaited = isAwaited
  }

  get released(): Promise<void> {
    return this.#released.promise
  }

  release(): void {
    this.#released.resolve()
  }

  /** Resolves when the resolution is durable on all shards. */
  async tell(transactionId: TransactionId, shards: readonly Shard[]): Promise<void> {
    this.#told = shards
    let holding = shards.length
    const onReleased = (): void => {
      if (--holding === 0) this.release()
    }
    const command = { transactionId, decision: this.#decision }
    const options = { isAwaited: this.#isAwaited, onReleased }
    await Promise.all(shards.map((shard) => shard.resolve(command, options)))
  }

  hurry(): void {
    this.#isAwaited = true
    for (const shard of this.#told) shard.hurry()
  }
}
