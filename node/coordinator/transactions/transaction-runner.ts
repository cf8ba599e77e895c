// Writes as one: one log entry when a single shard is touched, two phases when more are
// (DESIGN 5.4, A.7.2).
//
//   prepare everywhere (the anchor also begins) ─► decide at the anchor ─► answer ─► resolve, forget
//
// Invariants:
//   INV-T2  `commit` is durable only after every participant's prepare of this very attempt; an
//           attempt that met a refusal is aborted and never taken up again under its id.
//   INV-T8  Shards that are only read are participants too: their keys stay locked until the decision.
//   W1      A waits for B's keys only if A is older, or holds nothing itself: so waits end.
//   W2      Writes that may wait take turns by arrival (ContentionQueue): those of several shards before
//           they prepare, those of one shard once a key was in somebody's hands. A turn ends when the
//           shards have let go. Whoever does not wait, or writes very many keys, is ordered by W1 alone.
//   W3      No write is tried again after its deadline; it is refused with CONFLICT.

import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { runSliced } from '../../../lib/sliced.ts'
import { TIMESTAMP_ZERO, type HybridClock, type Timestamp } from '../../clock/hybrid-clock.ts'
import type {
  KeyHolder,
  KeyInterval,
  PrepareOutcome,
  Refusal,
  ShardAddress,
  WriteOutcome,
} from '../../shard/apply/command.ts'
import type { CallOptions, PreparedInOrder, Shard } from '../../shard/shard.ts'
import type { ShardRouter } from '../../shard/shard-router.ts'
import type { ProposalFate } from '../../shard/proposal.ts'
import { begunAtOf, buildTransactionId, type TransactionId } from '../../shard/transaction-id.ts'
import { unlessCancelled } from './cancellation.ts'
import { claimsOf, findClaimed } from './contention-claims.ts'
import { ContentionQueue, type Claim } from './contention-queue.ts'
import { TransactionCounts, type AbortReason } from './transaction-counts.ts'
import type { TransactionFinisher } from './transaction-finisher.ts'
import { addressOf, intervalOf, type TransactionPart } from './transaction-part.ts'

/** How long a contended write tries before it gives up with CONFLICT. */
export const CONTENTION_DEADLINE_MS = 10_000
/** How often a waiting transaction shows that it is alive. */
const HEARTBEAT_MS = 2000

export interface RunOptions {
  /** An OCC commit is refused by whatever is in its way; other writes wait their turn. */
  readonly onContention: 'wait' | 'refuse'
  /** Whether to answer only when every shard shows the new versions under their keys. */
  readonly awaitResolution: boolean
  readonly signal?: AbortSignal
}

export interface TransactionConflict {
  readonly kind: 'conflict'
  readonly reason: Extract<AbortReason, 'version_changed' | 'key_held'>
  readonly table: string
  readonly key: Buffer
  readonly message: string
}

export type RunOutcome =
  { readonly kind: 'committed'; readonly version: Timestamp } | TransactionConflict

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

/** What a contended attempt may still spend; `begunAt` is its age, kept over its retries. */
interface Budget extends Run {
  readonly begunAt: Timestamp
}

/** The end of a run, and when the shards have let go of its keys. */
interface Finished {
  readonly kind: 'finished'
  readonly outcome: RunOutcome
  readonly released: Promise<void>
}

type Tried = Finished | { readonly kind: 'again' | 'anew' }

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
    if (outcome.kind !== 'key-held') return outcome
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
    const [first] = run.parts
    for (;;) {
      const budget = { ...run, begunAt }
      const tried =
        run.parts.length === 1 && first !== undefined
          ? await this.#writeOne(first, budget)
          : await this.#attempt(budget)
      if (tried.kind === 'finished') return tried
      run.options.signal?.throwIfAborted()
      if (this.#with.clock.monotonicMs() >= run.deadlineMs) throw this.#tooLong(undefined)
      this.counts.retries += 1
      if (tried.kind === 'anew') begunAt = this.#with.hybridClock.now()
    }
  }

  async #writeOnce(part: TransactionPart, options: CallOptions): Promise<RunOutcome | KeyHeld> {
    const { checks, ops, ttl, shard } = part
    let outcome: WriteOutcome
    try {
      outcome = await shard.write({ checks, ops, ttl }, options)
    } catch (error) {
      this.counts.aborted.refused += 1
      throw error
    }
    if (outcome.kind === 'key-held') return outcome
    if (outcome.kind === 'version-changed') return this.#conflict(conflictOf(part, outcome))
    this.counts.oneShard += 1
    return { kind: 'committed', version: outcome.version }
  }

  async #writeOne(part: TransactionPart, budget: Budget): Promise<Tried> {
    const outcome = await this.#writeOnce(part, budget.options)
    return outcome.kind === 'key-held' ? this.#makeWay(part, outcome, budget) : finished(outcome)
  }

  async #attempt(budget: Budget): Promise<Tried> {
    const { parts, begunAt, options } = budget
    const transactionId = buildTransactionId(begunAt, this.#with.randomBits())
    const anchor = anchorOf(parts)
    const participants = await this.#intervalsOf(parts)
    const attempt = new Attempt({ transactionId, anchor, parts, participants })
    const results = await Promise.allSettled(
      parts.map((part) => this.#prepare(attempt, part, part === anchor, budget)),
    )
    const failure = results.find((result) => result.status === 'rejected')
    const prepared = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    )
    const refused = prepared.find((result) => result.kind !== 'prepared')
    if (failure === undefined && refused === undefined) {
      return this.#commit(attempt, prepared, options)
    }
    await this.#abort(attempt)
    if (failure !== undefined) {
      this.counts.aborted.refused += 1
      throw failure.reason
    }
    if (refused?.kind === 'conflict') return finished(this.#conflict(refused))
    if (refused?.kind === 'held') {
      return this.#makeWay(refused.part, refused.refusal, budget)
    }
    // Somebody else aborted this attempt, taking it for abandoned; or it is refused for its age,
    // as after the machine slept, and would be for ever.
    return { kind: 'anew' }
  }

  async #intervalsOf(parts: readonly TransactionPart[]): Promise<readonly KeyInterval[]> {
    const { clock } = this.#with
    const intervals: KeyInterval[] = []
    for (const part of parts) intervals.push(await runSliced(intervalOf(part), { clock }))
    return intervals
  }

  async #prepare(
    { transactionId, anchor, participants, isInOrder }: Attempt,
    part: TransactionPart,
    isAnchor: boolean,
    budget: Budget,
  ): Promise<Prepared> {
    const { shard, checks, ops, ttl } = part
    const begin = isAnchor ? { participants } : undefined
    for (;;) {
      const command = { transactionId, anchor, begin, checks, ops, ttl }
      const { outcome, fate } = isInOrder
        ? await shard.prepareInOrder(command, budget.options)
        : { outcome: await shard.prepare(command, budget.options), fate: undefined }
      if (outcome.kind === 'prepared') return { ...outcome, fate }
      if (outcome.kind === 'version-changed') return conflictOf(part, outcome)
      if (outcome.kind !== 'key-held') return outcome
      const held: Prepared = { kind: 'held', part, refusal: outcome }
      if (budget.options.onContention === 'wait') {
        // Younger transactions let go first (W1); the anchor must not wait without a record.
        const younger = begunAtOf(outcome.holder.transactionId) > budget.begunAt
        const route = await this.#with.router.shardAt(anchor)
        if (route.kind === 'shard') showAlive(route.shard, transactionId)
        if (younger && !isAnchor && (await this.#waitFor(part, outcome.holder, budget))) continue
      } else if (await this.#clearDecided(shard, outcome.holder)) {
        continue
      }
      return held
    }
  }

  /** A single write or an aborted attempt holds nothing, so it may wait for anybody. */
  async #makeWay(part: TransactionPart, refusal: KeyHeld, budget: Budget): Promise<Tried> {
    if (await this.#clearDecided(part.shard, refusal.holder)) return { kind: 'again' }
    if (budget.options.onContention === 'refuse') {
      return finished(this.#conflict(conflictOf(part, refusal)))
    }
    if (await this.#waitFor(part, refusal.holder, budget)) return { kind: 'again' }
    throw this.#tooLong({ part, key: refusal.key })
  }

  /** False when the time is used up. */
  async #waitFor(
    { shard }: TransactionPart,
    { transactionId }: KeyHolder,
    { deadlineMs, options }: Budget,
  ): Promise<boolean> {
    const leftMs = deadlineMs - this.#with.clock.monotonicMs()
    if (leftMs <= 0) return false
    const timeoutMs = Math.min(leftMs, HEARTBEAT_MS)
    const { signal } = options
    await shard.waitForRelease(transactionId, signal ? { timeoutMs, signal } : { timeoutMs })
    return true
  }

  /** Finishes a decided holder on the spot; false when it is undecided, or nobody can tell. */
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
    attempt: Attempt,
    prepared: readonly Prepared[],
    { awaitResolution }: RunOptions,
  ): Promise<Tried> {
    const { transactionId } = attempt
    const commit = { transactionId, anchor: attempt.anchor.key, decision: 'commit' } as const
    const decision = await attempt.anchorShard.decide(
      { ...commit, commitAtLeast: greatest(prepared) },
      { after: fatesOf(prepared) },
    )
    const isAwaited = awaitResolution || decision.state === 'aborted'
    const { released, done } = this.#with.finisher.finish(attempt, decision, { isAwaited })
    if (decision.state === 'aborted') {
      await done
      return { kind: 'again' }
    }
    if (awaitResolution) await done
    else await this.#with.finisher.room()
    this.counts.severalShards += 1
    const outcome = { kind: 'committed', version: decision.commitTs } as const
    return { kind: 'finished', outcome, released }
  }

  #conflict(conflict: TransactionConflict): TransactionConflict {
    this.counts.aborted[conflict.reason] += 1
    return conflict
  }

  #tooLong(contended: Contended | undefined): ServiceError {
    this.counts.aborted.waited_too_long += 1
    return heldTooLong(contended)
  }

  async #abort(attempt: Attempt): Promise<void> {
    const decision = await attempt.anchorShard.decide({
      transactionId: attempt.transactionId,
      anchor: attempt.anchor.key,
      decision: 'abort',
      commitAtLeast: TIMESTAMP_ZERO,
    })
    await this.#with.finisher.finish(attempt, decision, { isAwaited: true }).done
  }
}

type Prepared =
  | (Extract<PrepareOutcome, { kind: 'prepared' }> & Pick<PreparedInOrder, 'fate'>)
  | Extract<PrepareOutcome, { kind: 'finished' }>
  | TransactionConflict
  | {
      readonly kind: 'held'
      readonly part: TransactionPart
      readonly refusal: KeyHeld
    }

type KeyHeld = Extract<Refusal, { kind: 'key-held' }>

/** In the background. A sign of life that is lost is one of many. */
function showAlive(shard: Shard, transactionId: TransactionId): void {
  shard.heartbeat(transactionId).catch(() => undefined)
}

interface AttemptOptions {
  readonly transactionId: TransactionId
  readonly anchor: TransactionPart
  readonly parts: readonly TransactionPart[]
  readonly participants: readonly KeyInterval[]
}

/** One try under one id: what recovery would need to finish it. */
class Attempt {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly participants: readonly KeyInterval[]
  readonly anchorShard: Shard
  /**
   * Whether the decision may be proposed before the prepares are durable: it cannot become durable
   * before them. So a transaction within one journal waits for one sync, or two.
   */
  readonly isInOrder: boolean

  constructor({ transactionId, anchor, parts, participants }: AttemptOptions) {
    this.transactionId = transactionId
    this.anchor = addressOf(anchor)
    this.anchorShard = anchor.shard
    this.participants = participants
    const order = anchor.shard.durableOrder
    this.isInOrder = order !== undefined && parts.every(({ shard }) => shard.durableOrder === order)
  }
}

function fatesOf(prepared: readonly Prepared[]): readonly ProposalFate[] {
  return prepared.flatMap((one) =>
    one.kind === 'prepared' && one.fate !== undefined ? [one.fate] : [],
  )
}

/** The shard of the first written key; of the first read one when nothing is written. */
function anchorOf(parts: readonly TransactionPart[]): TransactionPart {
  return must(parts.find(({ ops }) => ops.length > 0) ?? parts[0], 'a part of the transaction')
}

function greatest(prepared: readonly Prepared[]): Timestamp {
  return prepared.reduce(
    (max, result) =>
      result.kind === 'prepared' && result.commitAtLeast > max ? result.commitAtLeast : max,
    TIMESTAMP_ZERO,
  )
}

function finished(outcome: RunOutcome): Finished {
  return { kind: 'finished', outcome, released: Promise.resolve() }
}

interface Contended {
  readonly part: TransactionPart
  readonly key: Buffer
}

function heldTooLong(contended: Contended | undefined): ServiceError {
  const shown =
    contended === undefined
      ? 'keys of this write'
      : `key "${contended.key.toString()}" of table "${contended.part.table.record.name}"`
  return new ServiceError(
    'CONFLICT',
    `other transactions have held ${shown} for too long; try again`,
  )
}

function conflictOf({ table }: TransactionPart, refusal: Refusal): TransactionConflict {
  const { key } = refusal
  const place = { kind: 'conflict', table: table.record.name, key } as const
  if (refusal.kind === 'key-held') {
    return { ...place, reason: 'key_held', message: 'another transaction is writing this document' }
  }
  const message = `version changed: it is ${refusal.found} now`
  return { ...place, reason: 'version_changed', message }
}
