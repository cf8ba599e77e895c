// Writes as one: one log entry when a single shard is touched, two phases when more are
// (DESIGN 5.4, A.7.2).
//
//   prepare everywhere (the anchor also begins) ─► decide at the anchor ─► answer ─► resolve, forget
//
// Invariants:
//   INV-T2  `commit` is proposed only after every participant has prepared this very attempt; an
//           attempt that met a refusal is aborted and never taken up again under its id.
//   INV-T8  Shards that are only read are participants too: their keys stay locked until the decision.
//   W1      A waits for B's keys only if A is older, or holds nothing itself: so waits end.

import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { TIMESTAMP_ZERO, type HybridClock, type Timestamp } from '../../clock/hybrid-clock.ts'
import type { KeyHolder, PrepareOutcome, Refusal, ShardAddress } from '../../shard/apply/command.ts'
import type { Shard, ShardRouter } from '../../shard/shard.ts'
import { begunAtOf, buildTransactionId, type TransactionId } from '../../shard/transaction-id.ts'
import type { TransactionFinisher } from './transaction-finisher.ts'
import type { TransactionPart } from './transaction-part.ts'

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

/** What a contended attempt may still spend; `begunAt` is its age, kept over its retries. */
interface Budget {
  readonly begunAt: Timestamp
  readonly deadlineMs: number
  readonly options: RunOptions
}

export class TransactionRunner {
  readonly #with: TransactionRunnerOptions

  constructor(options: TransactionRunnerOptions) {
    this.#with = options
  }

  /** Commits all parts or none. Rejects with the service's refusal; a conflict is a value. */
  async run(parts: readonly TransactionPart[], options: RunOptions): Promise<RunOutcome> {
    let budget: Budget = {
      begunAt: this.#with.hybridClock.now(),
      deadlineMs: this.#with.clock.monotonicMs() + CONTENTION_DEADLINE_MS,
      options,
    }
    const [first] = parts
    if (first === undefined) return { kind: 'committed', version: TIMESTAMP_ZERO }
    for (;;) {
      const outcome =
        parts.length === 1
          ? await this.#writeOne(first, budget)
          : await this.#attempt(parts, budget)
      if (outcome === 'anew') budget = { ...budget, begunAt: this.#with.hybridClock.now() }
      else if (outcome !== 'again') return outcome
      options.signal?.throwIfAborted()
    }
  }

  async #writeOne(part: TransactionPart, budget: Budget): Promise<RunOutcome | 'again'> {
    const { checks, ops, ttl, shard } = part
    const outcome = await shard.write({ checks, ops, ttl })
    if (outcome.kind === 'written') return { kind: 'committed', version: outcome.version }
    if (outcome.kind === 'version-changed') return conflictOf(part, outcome)
    return this.#makeWay(part, outcome, budget)
  }

  async #attempt(
    parts: readonly TransactionPart[],
    budget: Budget,
  ): Promise<RunOutcome | 'again' | 'anew'> {
    const transactionId = buildTransactionId(budget.begunAt, this.#with.randomBits())
    const anchor = anchorOf(parts)
    const attempt = new Attempt(transactionId, anchor.address, parts)
    const results = await Promise.allSettled(
      parts.map((part) => this.#prepare(attempt, part, part === anchor, budget)),
    )
    const failure = results.find((result) => result.status === 'rejected')
    const prepared = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    )
    const refused = prepared.find((result) => result.kind !== 'prepared')
    if (failure === undefined && refused === undefined) {
      return this.#commit(attempt, anchor, prepared, budget.options)
    }
    await this.#abort(attempt, anchor)
    if (failure !== undefined) throw failure.reason
    if (refused?.kind === 'conflict') return refused
    if (refused?.kind === 'held') {
      return this.#makeWay(refused.part, refused.refusal, budget)
    }
    // Somebody else aborted this attempt, taking it for abandoned; or it is refused for its age,
    // as after the machine slept, and would be for ever.
    return 'anew'
  }

  async #prepare(
    { transactionId, anchor, participants }: Attempt,
    part: TransactionPart,
    isAnchor: boolean,
    budget: Budget,
  ): Promise<Prepared> {
    const { shard, checks, ops, ttl } = part
    const begin = isAnchor ? { participants } : undefined
    for (;;) {
      const command = { transactionId, anchor, begin, checks, ops, ttl }
      const outcome = await shard.prepare(command)
      if (outcome.kind === 'version-changed') return conflictOf(part, outcome)
      if (outcome.kind !== 'key-held') return outcome
      const held: Prepared = { kind: 'held', part, refusal: outcome }
      if (budget.options.onContention === 'wait') {
        // Younger transactions let go first (W1); the anchor must not wait without a record.
        const younger = begunAtOf(outcome.holder.transactionId) > budget.begunAt
        this.#with.router.shardAt(anchor)?.heartbeat(transactionId)
        if (younger && !isAnchor && (await this.#waitFor(part, outcome.holder, budget))) continue
      } else if (await this.#clearDecided(shard, outcome.holder)) {
        continue
      }
      return held
    }
  }

  /** A single write or an aborted attempt holds nothing, so it may wait for anybody. */
  async #makeWay(
    part: TransactionPart,
    refusal: Extract<Refusal, { kind: 'key-held' }>,
    budget: Budget,
  ): Promise<RunOutcome | 'again'> {
    if (await this.#clearDecided(part.shard, refusal.holder)) return 'again'
    if (budget.options.onContention === 'refuse') return conflictOf(part, refusal)
    if (await this.#waitFor(part, refusal.holder, budget)) return 'again'
    throw new ServiceError(
      'CONFLICT',
      `another transaction has held key "${refusal.key.toString()}" of table ` +
        `"${part.table.record.name}" for too long; try again`,
    )
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

  /** Finishes a decided holder on the spot; false when it is still undecided. */
  async #clearDecided(shard: Shard, { transactionId, anchor }: KeyHolder): Promise<boolean> {
    const owner = this.#with.router.shardAt(anchor)
    const above = this.#with.hybridClock.readPoint()
    const status =
      owner === undefined
        ? ({ state: 'aborted' } as const)
        : await owner.push({ transactionId, anchor: anchor.key, above, expired: false })
    if (status.state === 'pending') return false
    await shard.resolve({ transactionId, decision: status })
    return true
  }

  async #commit(
    attempt: Attempt,
    anchor: TransactionPart,
    prepared: readonly Prepared[],
    { awaitResolution }: RunOptions,
  ): Promise<RunOutcome | 'again'> {
    const { transactionId } = attempt
    const decision = await anchor.shard.decide({
      transactionId,
      anchor: attempt.anchor.key,
      decision: 'commit',
      commitAtLeast: greatest(prepared),
    })
    const finished = this.#with.finisher.finish(attempt, decision)
    if (decision.state === 'aborted') {
      await finished
      return 'again'
    }
    if (awaitResolution) await finished
    else await this.#with.finisher.room()
    return { kind: 'committed', version: decision.commitTs }
  }

  async #abort(attempt: Attempt, anchor: TransactionPart): Promise<void> {
    const decision = await anchor.shard.decide({
      transactionId: attempt.transactionId,
      anchor: attempt.anchor.key,
      decision: 'abort',
      commitAtLeast: TIMESTAMP_ZERO,
    })
    await this.#with.finisher.finish(attempt, decision)
  }
}

type Prepared =
  | Extract<PrepareOutcome, { kind: 'prepared' | 'finished' }>
  | TransactionConflict
  | {
      readonly kind: 'held'
      readonly part: TransactionPart
      readonly refusal: Extract<Refusal, { kind: 'key-held' }>
    }

/** One try under one id: what recovery would need to finish it. */
class Attempt {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly participants: readonly ShardAddress[]

  constructor(id: TransactionId, anchor: ShardAddress, parts: readonly TransactionPart[]) {
    this.transactionId = id
    this.anchor = anchor
    this.participants = parts.map(({ address }) => address)
  }
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

function conflictOf({ table }: TransactionPart, refusal: Refusal): TransactionConflict {
  const { key } = refusal
  const message =
    refusal.kind === 'key-held'
      ? 'another transaction is writing this document'
      : `version changed: it is ${refusal.found} now`
  return { kind: 'conflict', table: table.record.name, key, message }
}
