// Commits a request of many keys as one: by one log entry if it touches one shard, and in two phases if
// it touches more.
//
//   prepare everywhere (the anchor also begins) ─► decide at the anchor ─► answer ─► resolve, forget
//
// Invariants:
//   INV-T2  `commit` is durable only after every participant's prepare of this very attempt; an
//           attempt that met a refusal is aborted and never taken up again under its id.
//   INV-T8  Shards that are only read are participants too: their keys stay locked until the decision.
//   W1      A waits for B's keys only if A is older, or holds nothing itself: so waits end.
//   W2      Writes that may wait take turns by arrival (ContentionQueue): writes of several shards
//           before they prepare, writes of one shard after a refusal because a key was held. A turn ends
//           when the shards have released the keys. A commit that does not wait, or a write of very many
//           keys, takes no turn; W1 alone orders it.
//   W3      No write is tried again after its deadline; it is refused with CONFLICT.
//   W4      NOT_LEADER and RANGE_MOVED mean that nothing happened. The runner then sorts the request by a
//           fresh map and tries it under another id, within its deadline. It never retries UNAVAILABLE.

import type { Clock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { runSliced } from '../../lib/sliced.ts'
import { TIMESTAMP_ZERO, type HybridClock, type Timestamp } from '../clock/hybrid-clock.ts'
import type { Decision, KeyHolder, KeyInterval, WriteOutcome } from '../shard/command/command.ts'
import { isRefused } from '../shard/refusals.ts'
import type { CallOptions, Shard } from '../shard/shard.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import {
  begunAtOf,
  buildTransactionId,
  type TransactionId,
} from '../shard/command/transaction-id.ts'
import { unlessCancelled } from './cancellation.ts'
import { claimsOf, findClaimed } from './contention-claims.ts'
import { ContentionQueue, type Claim } from './contention-queue.ts'
import {
  conflictOf,
  heldTooLong,
  type ContendedKey,
  type RunOutcome,
  type TransactionConflict,
} from './run-outcome.ts'
import {
  anchorOf,
  commitAtLeastOf,
  fatesOf,
  TransactionAttempt,
  type HeldPart,
  type KeyHeld,
  type PrepareResult,
} from './transaction-attempt.ts'
import { TransactionCounts } from './transaction-counts.ts'
import type { TransactionFinisher } from './transaction-finisher.ts'
import { isMoved, rerouted } from './transaction-rerouting.ts'
import { intervalOf, type TransactionPart } from './transaction-part.ts'

/** How long a contended write tries before it gives up with CONFLICT. */
export const CONTENTION_DEADLINE_MS = 10_000
/** How often a waiting transaction shows that it is alive. */
const HEARTBEAT_MS = 2000
/** The pause before the runner looks for a shard that moved. It doubles each time. */
const PAUSE_MS = 5
const PAUSE_MAX_MS = 200

/** How a run treats contention, and how long its caller waits. */
export interface RunOptions {
  /** `refuse`: a held key is a conflict at once, as for an OCC commit. `wait`: the run takes turns. */
  readonly onContention: 'wait' | 'refuse'
  /** True: `run` resolves when every shard shows the new versions under their keys. */
  readonly awaitResolution: boolean
  /** Ends waits. A run that has begun to decide may still commit. */
  readonly signal?: AbortSignal | undefined
}

/** What the runner works with. `router` finds the shards of a request that has met a stale map. */
export interface TransactionRunnerOptions {
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly router: ShardRouter
  readonly finisher: TransactionFinisher
  /** 64 random bits as 16 hexadecimal digits. */
  readonly randomBits: () => string
}

interface Run {
  readonly parts: readonly TransactionPart[]
  readonly deadlineMs: number
  readonly options: RunOptions
}

/** A run with its age. A retry after contention keeps `begunAt`, so that the run becomes the oldest. */
interface AgedRun extends Run {
  readonly begunAt: Timestamp
}

/** The end of a run. `released` resolves when the shards have released its keys. */
interface Finished {
  readonly kind: 'finished'
  readonly outcome: RunOutcome
  readonly released: Promise<void>
}

/** A shard did nothing, because it no longer leads, or no longer owns a key of the request. */
interface Moved {
  readonly kind: 'moved'
  readonly error: ServiceError
}

/** `again`: with the same age; `anew`: with a new one, because the old one is refused. */
type Tried = Finished | Moved | { readonly kind: 'again' | 'anew' }

/** Runs the writes of one node: it is the coordinator of each transaction that it begins. */
export class TransactionRunner {
  readonly counts = new TransactionCounts()
  readonly #with: TransactionRunnerOptions
  readonly #queue: ContentionQueue

  constructor(options: TransactionRunnerOptions) {
    this.#with = options
    this.#queue = new ContentionQueue(options.clock)
  }

  /** The keys of all writes that wait for their turn. */
  get waitingClaims(): number {
    return this.#queue.waitingClaims
  }

  /**
   * Commits all parts or none. Rejects with the service's refusal, and with CANCELLED when the signal
   * aborts before the end; a conflict is a value.
   */
  run(parts: readonly TransactionPart[], options: RunOptions): Promise<RunOutcome> {
    const deadlineMs = this.#with.clock.monotonicMs() + CONTENTION_DEADLINE_MS
    return unlessCancelled(options.signal, () => this.#run({ parts, deadlineMs, options }))
  }

  async #run(run: Run): Promise<RunOutcome> {
    const { parts, options } = run
    const [first, ...others] = parts
    if (first === undefined) return { kind: 'committed', version: TIMESTAMP_ZERO }
    if (options.onContention === 'refuse') return (await this.#retry(run)).outcome
    if (others.length > 0) return this.#takeTurn(run, claimsOf(parts, 'alone'))
    const outcome = await this.#writeOnce(first, options)
    if (outcome.kind !== 'key-held' && outcome.kind !== 'moved') return outcome
    return this.#takeTurn(run, claimsOf(parts, 'instant'))
  }

  /** Runs when the earlier writes of the same keys have ended (W2). */
  async #takeTurn(run: Run, claims: readonly Claim[]): Promise<RunOutcome> {
    const { deadlineMs, options, parts } = run
    const turn = await this.#queue.enter(claims, { deadlineMs, signal: options.signal })
    if (turn.kind === 'late') throw this.#tooLong(findClaimed(parts, turn.waitedFor))
    try {
      const { outcome, released } = await this.#retry(run)
      void released.then(() => turn[Symbol.dispose]())
      return outcome
    } catch (error) {
      turn[Symbol.dispose]()
      throw error
    }
  }

  async #retry(run: Run): Promise<Finished> {
    let begunAt = this.#with.hybridClock.now()
    let { parts } = run
    for (let moves = 0; ;) {
      const [first, ...others] = parts
      const aged = { ...run, parts, begunAt }
      const tried =
        first !== undefined && others.length === 0
          ? await this.#writeOne(first, aged)
          : await this.#attempt(aged)
      if (tried.kind === 'finished') return tried
      run.options.signal?.throwIfAborted()
      if (this.#isLate(run)) throw this.#lateError(tried)
      this.counts.retries += 1
      if (tried.kind === 'again') continue
      begunAt = this.#with.hybridClock.now()
      if (tried.kind === 'moved') parts = await this.#findAnew(aged, moves++)
    }
  }

  #isLate({ deadlineMs }: Pick<Run, 'deadlineMs'>): boolean {
    return this.#with.clock.monotonicMs() >= deadlineMs
  }

  /** After a pause, because the new place may not be known everywhere at once. */
  async #findAnew({ parts, options }: Run, moves: number): Promise<readonly TransactionPart[]> {
    await this.#pause(moves, options.signal)
    return (await rerouted(parts, this.#with)) ?? parts // the next attempt is refused, and asks again
  }

  #pause(moves: number, signal?: AbortSignal): Promise<void> {
    return this.#with.clock.sleep(Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** moves), signal)
  }

  async #writeOnce(
    part: TransactionPart,
    options: CallOptions,
  ): Promise<RunOutcome | KeyHeld | Moved> {
    const { checks, ops, ttl, shard } = part
    let outcome: WriteOutcome
    try {
      outcome = await shard.write({ checks, ops, ttl }, options)
    } catch (error) {
      if (isMoved(error)) return { kind: 'moved', error }
      this.counts.aborted.refused += 1
      throw error
    }
    if (outcome.kind === 'key-held') return outcome
    if (outcome.kind === 'version-changed') return this.#conflict(conflictOf(part, outcome))
    this.counts.oneShard += 1
    return { kind: 'committed', version: outcome.version }
  }

  async #writeOne(part: TransactionPart, run: AgedRun): Promise<Tried> {
    const outcome = await this.#writeOnce(part, run.options)
    if (outcome.kind === 'moved') return outcome
    return outcome.kind === 'key-held' ? this.#makeWay(part, outcome, run) : finished(outcome)
  }

  async #attempt(run: AgedRun): Promise<Tried> {
    const { parts, begunAt } = run
    const transactionId = buildTransactionId(begunAt, this.#with.randomBits())
    const anchor = anchorOf(parts)
    const participants = await this.#intervalsOf(parts)
    const attempt = new TransactionAttempt({ transactionId, anchor, parts, participants })
    const results = await Promise.allSettled(
      parts.map((part) => this.#prepare(attempt, part, part === anchor, run)),
    )
    const failure = results.find((result) => result.status === 'rejected')
    const prepared = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    )
    const refused = prepared.find((result) => result.kind !== 'prepared')
    if (failure === undefined && refused === undefined) {
      return this.#commit(attempt, prepared, run)
    }
    await this.#abort(attempt, run)
    if (failure !== undefined) {
      if (isMoved(failure.reason)) return { kind: 'moved', error: failure.reason }
      this.counts.aborted.refused += 1
      throw failure.reason
    }
    if (refused?.kind === 'conflict') return finished(this.#conflict(refused))
    if (refused?.kind === 'held') {
      return this.#makeWay(refused.part, refused.refusal, run)
    }
    // A reader aborted this attempt because its coordinator was silent; or a shard refused it as too
    // old, as after the machine slept. A retry with the same age would be refused each time.
    return { kind: 'anew' }
  }

  async #intervalsOf(parts: readonly TransactionPart[]): Promise<readonly KeyInterval[]> {
    const { clock } = this.#with
    const intervals: KeyInterval[] = []
    for (const part of parts) intervals.push(await runSliced(intervalOf(part), { clock }))
    return intervals
  }

  async #prepare(
    attempt: TransactionAttempt,
    part: TransactionPart,
    isAnchor: boolean,
    run: AgedRun,
  ): Promise<PrepareResult> {
    const { transactionId, anchor, participants, isInOrder } = attempt
    const { shard, checks, ops, ttl } = part
    const begin = isAnchor ? { participants } : undefined
    for (;;) {
      const command = { transactionId, anchor, begin, checks, ops, ttl }
      const { outcome, fate } = isInOrder
        ? await shard.prepareInOrder(command, run.options)
        : { outcome: await shard.prepare(command, run.options), fate: undefined }
      if (outcome.kind === 'prepared') return { ...outcome, fate }
      if (outcome.kind === 'version-changed') return conflictOf(part, outcome)
      if (outcome.kind !== 'key-held') return outcome
      const held = { kind: 'held', part, refusal: outcome } as const
      if (!(await this.#mayAskAgain(attempt, held, { isAnchor, run }))) return held
    }
  }

  /** Whether to prepare once more, because the holder may have released the key. */
  async #mayAskAgain(
    { anchor, transactionId }: TransactionAttempt,
    { part, refusal: { holder } }: HeldPart,
    { isAnchor, run }: { readonly isAnchor: boolean; readonly run: AgedRun },
  ): Promise<boolean> {
    if (run.options.onContention === 'refuse') return this.#clearDecided(part.shard, holder)
    const route = await this.#with.router.shardAt(anchor)
    if (route.kind === 'shard') showAlive(route.shard, transactionId)
    // Younger transactions let go first (W1); the anchor must not wait without a record.
    const younger = begunAtOf(holder.transactionId) > run.begunAt
    return younger && !isAnchor && this.#waitFor(part, holder, run)
  }

  /** A single write or an aborted attempt holds no key, so it may wait for any holder (W1). */
  async #makeWay(part: TransactionPart, refusal: KeyHeld, run: AgedRun): Promise<Tried> {
    if (await this.#clearDecided(part.shard, refusal.holder)) return { kind: 'again' }
    if (run.options.onContention === 'refuse') {
      return finished(this.#conflict(conflictOf(part, refusal)))
    }
    if (await this.#waitFor(part, refusal.holder, run)) return { kind: 'again' }
    throw this.#tooLong({ part, key: refusal.key })
  }

  /** Waits for a release, or one heartbeat long; false when the deadline has passed. */
  async #waitFor(
    { shard }: TransactionPart,
    { transactionId }: KeyHolder,
    { deadlineMs, options }: AgedRun,
  ): Promise<boolean> {
    const leftMs = deadlineMs - this.#with.clock.monotonicMs()
    if (leftMs <= 0) return false
    const timeoutMs = Math.min(leftMs, HEARTBEAT_MS)
    const { signal } = options
    await shard.waitForRelease(transactionId, signal ? { timeoutMs, signal } : { timeoutMs })
    return true
  }

  /** Resolves a decided holder on this shard; false when it is undecided, or its record not found. */
  async #clearDecided(shard: Shard, { transactionId, anchor }: KeyHolder): Promise<boolean> {
    const route = await this.#with.router.shardAt(anchor)
    if (route.kind === 'unknown') return false
    const above = this.#with.hybridClock.readPoint()
    const status =
      route.kind === 'gone'
        ? ({ state: 'aborted' } as const)
        : await route.shard.push({ transactionId, anchor: anchor.key, above, expired: false })
    if (status.state === 'pending') return false
    await shard.resolve({ transactionId, decision: status })
    return true
  }

  async #commit(
    attempt: TransactionAttempt,
    prepared: readonly PrepareResult[],
    run: AgedRun,
  ): Promise<Tried> {
    const { transactionId } = attempt
    const commit = { transactionId, anchor: attempt.anchor.key, decision: 'commit' } as const
    let decision: Decision
    try {
      decision = await attempt.anchorShard.decide(
        { ...commit, commitAtLeast: commitAtLeastOf(prepared) },
        { after: fatesOf(prepared) },
      )
    } catch (error) {
      if (!isRefused(error)) throw error
      return this.#endRefused(attempt, error, run)
    }
    return this.#end(attempt, decision, run)
  }

  async #end(attempt: TransactionAttempt, decision: Decision, { options }: Run): Promise<Tried> {
    const isAwaited = options.awaitResolution || decision.state === 'aborted'
    const { released, done } = this.#with.finisher.finish(attempt, decision, { isAwaited })
    if (decision.state === 'aborted') {
      await done
      return { kind: 'again' }
    }
    if (isAwaited) await done
    else await this.#with.finisher.room()
    this.counts.severalShards += 1
    const outcome = { kind: 'committed', version: decision.commitTs } as const
    return { kind: 'finished', outcome, released }
  }

  /**
   * The commit was refused, so the transaction is undecided, and at a new place of its record the prepares may not
   * be durable. It is aborted at once, because its keys would stay held until recovery looks for it.
   */
  async #endRefused(attempt: TransactionAttempt, error: ServiceError, run: Run): Promise<Tried> {
    const decision = await this.#decideAbort(attempt, run)
    const tried = await this.#end(attempt, decision, run)
    if (tried.kind === 'finished') return tried
    const hasMoved: boolean = isMoved(error)
    if (hasMoved) return { kind: 'moved', error }
    this.counts.aborted.refused += 1
    throw error
  }

  #conflict(conflict: TransactionConflict): TransactionConflict {
    this.counts.aborted[conflict.reason] += 1
    return conflict
  }

  #lateError(tried: Tried): ServiceError {
    if (tried.kind !== 'moved') return this.#tooLong(undefined)
    this.counts.aborted.refused += 1
    return tried.error
  }

  #tooLong(contended: ContendedKey | undefined): ServiceError {
    this.counts.aborted.waited_too_long += 1
    return heldTooLong(contended)
  }

  async #abort(attempt: TransactionAttempt, run: AgedRun): Promise<void> {
    const decision = await this.#decideAbort(attempt, run)
    await this.#with.finisher.finish(attempt, decision, { isAwaited: true }).done
  }

  /** Asks the shard that keeps the record now. Throws if none answers in time; then recovery aborts. */
  async #decideAbort(
    { transactionId, anchor, anchorShard }: TransactionAttempt,
    run: Run,
  ): Promise<Decision> {
    const abort = { transactionId, anchor: anchor.key, decision: 'abort' } as const
    let shard = anchorShard
    for (let moves = 0; ; moves++) {
      try {
        return await shard.decide({ ...abort, commitAtLeast: TIMESTAMP_ZERO })
      } catch (error) {
        if (!isMoved(error) || this.#isLate(run)) throw error
      }
      await this.#pause(moves)
      const route = await this.#with.router.shardAt(anchor)
      if (route.kind === 'gone') return { state: 'aborted' }
      if (route.kind === 'shard') ({ shard } = route)
    }
  }
}

/** Sends a heartbeat without waiting. A lost heartbeat does no harm, because others follow. */
function showAlive(shard: Shard, transactionId: TransactionId): void {
  shard.heartbeat(transactionId).catch(() => undefined)
}

function finished(outcome: RunOutcome): Finished {
  return { kind: 'finished', outcome, released: Promise.resolve() }
}
