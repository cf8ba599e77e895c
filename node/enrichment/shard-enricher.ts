// Keeps the artifacts of one index on one shard up to date, as long as this node leads it.
//
//   start ─► opening its models ─► round ──the log became too long, an error──► round, with a walk
//                ▲        └──────── refused ───┘
// Invariants:
//   SE1  Each document ends with an artifact that has the hash of its present source, or with a parked one, however often
//        leaders change: what is not covered by the stored progress is looked at again.
//   SE2  What is unchanged is not embedded again, also by a later leader or a walk.

import { InvariantError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { IndexDefinition } from '../index/host/index-definition.ts'
import type { EnrichmentProgress, WalkedSpan } from '../shard/command/enrich-command.ts'
import type { EnrichmentStatus, IndexEnricher } from '../shard/following/shard-enrichers.ts'
import { unmadeAsStored } from '../shard/following/documents-behind.ts'
import { extendTally } from '../shard/following/extend-tally.ts'
import { storedProgress } from '../shard/format/enrichment-progress.ts'
import { endOfLog } from '../shard/format/stored-log.ts'
import type { LedShard } from '../shard/led-shard.ts'
import { Ending } from './ending.ts'
import { BACKOFF_MS_MAX, enrichmentBackoffMs } from './enrichment-backoff.ts'
import type { EnrichmentRoom } from './enrichment-room.ts'
import { EnrichmentRound, type LogLimits, type RoundEnd } from './enrichment-round.ts'
import type { Missing, ModelLine } from './model-line.ts'
import { ParkedDocuments } from './parked-documents.ts'
import type { Trouble, TroubleKind } from './provider-trouble.ts'

/** The models of an index, shared by its shards on this node. */
export interface ModelLease {
  readonly line: ModelLine
  readonly release: () => Promise<void>
}

/** What an enricher works with. It closes nothing but its lease. */
export interface ShardEnricherOptions {
  readonly led: LedShard
  readonly definition: IndexDefinition
  /** Rejects while the models cannot be opened, with why. */
  readonly borrow: () => Promise<ModelLease>
  readonly room: EnrichmentRoom
  readonly limits: LogLimits
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Enriches one shard for one index, from its start to its close (SE1, SE2). */
export class ShardEnricher implements IndexEnricher {
  readonly #with: ShardEnricherOptions
  readonly #parked: ParkedDocuments
  readonly #ending = new Ending()
  #round: EnrichmentRound | undefined
  #line: ModelLine | undefined
  #saved: EnrichmentProgress | undefined
  #error: string | undefined
  #enriched = 0
  #walkedThrough = 0
  #running: Promise<void> | undefined

  constructor(options: ShardEnricherOptions) {
    const { led, definition, clock } = options
    this.#with = options
    this.#parked = new ParkedDocuments(led.store, definition.id, clock)
  }

  /** Before the first round it is not known, so that all is needed. */
  get neededAbove(): number {
    if (this.#round === undefined) return this.#saved?.sequence ?? 0
    return Math.min(this.#saved?.sequence ?? Infinity, this.#round.progress.sequence)
  }

  get enriched(): number {
    return this.#enriched + (this.#round?.written ?? 0)
  }

  get waiting(): number {
    const { led, definition } = this.#with
    return this.#round?.waiting ?? unmadeAsStored(led, definition.id)
  }

  get walkedThrough(): number {
    return Math.max(this.#walkedThrough, this.#round?.walkedThrough ?? 0)
  }

  get parked(): number {
    return this.#parked.count
  }

  get documentsWalked(): number {
    const round = this.#round
    return round === undefined || round.progress.spans.length === 0 ? 0 : round.documentsWalked
  }

  get error(): string | undefined {
    const { trouble, missing } = this.#line ?? {}
    const shown = (trouble && showTrouble(trouble)) ?? (missing && showMissing(missing))
    return this.#error ?? shown ?? this.#round?.error
  }

  async status(parkedMax: number): Promise<EnrichmentStatus> {
    const round = this.#round
    const { refused, unreachable } = await this.#parked.counts()
    const parkedDocuments = await this.#parked.list(parkedMax)
    return {
      pending: this.waiting,
      enriched: this.enriched,
      // Counts may be older than what is listed.
      parked: Math.max(refused + unreachable, parkedDocuments.length),
      retrying: round?.retrying ?? 0,
      error: this.error,
      progress: (await round?.walked()) ?? 0,
      rebuilding: round === undefined || round.progress.spans.length > 0,
      parkedDocuments,
    }
  }

  /** `earlier` is the end of an enricher before it on the shard. */
  start(earlier: Promise<void> | undefined): void {
    this.#running = this.#run(earlier)
  }

  /** Aborts what is under way. Resolves when nothing of the shard is read or written any more. */
  async close(): Promise<void> {
    this.#ending.end(new Error('this node enriches the shard no more'))
    this.#round?.close()
    await this.#running
  }

  async #run(earlier: Promise<void> | undefined): Promise<void> {
    await earlier
    for (let failures = 1; !this.#ending.isOver; failures++) {
      const beganAtMs = this.#with.clock.monotonicMs()
      const lease = await this.#borrow()
      if (lease !== undefined) await this.#enrichWith(lease)
      if (this.#with.clock.monotonicMs() - beganAtMs > BACKOFF_MS_MAX) failures = 1
      await this.#pause(failures)
    }
  }

  async #enrichWith({ line, release }: ModelLease): Promise<void> {
    try {
      this.#line = line
      await this.#enrich(line)
    } catch (error) {
      this.#failed(error)
    } finally {
      await release()
    }
  }

  async #borrow(): Promise<ModelLease | undefined> {
    try {
      return await this.#with.borrow()
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  #failed(error: unknown): void {
    if (error instanceof InvariantError) throw error
    const { log, definition, led } = this.#with
    const message = messageOf(error)
    if (message !== this.#error) {
      const place = { table: led.tableName, index: definition.name, shardId: led.id }
      log.warn('an index cannot be enriched', { ...place, error: message })
    }
    this.#error = message
  }

  async #pause(failures: number): Promise<void> {
    const { clock, random } = this.#with
    const pauseMs = enrichmentBackoffMs(failures, random)
    await clock.sleep(pauseMs, this.#ending.signal).catch(() => undefined)
  }

  /** One round after the other, until one fails. */
  async #enrich(line: ModelLine): Promise<void> {
    let progress = await this.#progress()
    for (let savesAtOnce = false; !this.#ending.isOver; savesAtOnce = true) {
      const round = this.#buildRound(line, progress)
      this.#round = round
      this.#error = undefined
      const end = await round.run({ savesAtOnce })
      this.#enriched += round.written
      this.#walkedThrough = this.walkedThrough
      this.#round = undefined
      progress = this.#after(end, round.progress)
    }
  }

  #buildRound(line: ModelLine, progress: EnrichmentProgress): EnrichmentRound {
    const onSaved = (saved: EnrichmentProgress): void => {
      this.#saved = saved
    }
    return new EnrichmentRound({ ...this.#with, line, parked: this.#parked, onSaved }, progress)
  }

  #after(end: RoundEnd, progress: EnrichmentProgress): EnrichmentProgress {
    if (end.kind === 'failed') throw new Error(end.error)
    return end.kind === 'behind' ? this.#walking(progress) : progress
  }

  /** As an earlier leader has stored it, if the log reaches back so far. */
  async #progress(): Promise<EnrichmentProgress> {
    const { led, definition } = this.#with
    this.#saved = storedProgress(led.store, definition.id)
    await extendTally(led, this.#saved?.sequence ?? Infinity, this.#with.clock)
    if (this.#saved === undefined) return this.#walking({ sequence: 0, spans: [] })
    const oldest = (await endOfLog(led.store, 'oldest')) ?? 0
    const reachesBack = oldest <= this.#saved.sequence + 1
    return reachesBack ? this.#saved : this.#walking(this.#saved)
  }

  /** A walk replaces the log up to here. It continues at the start of the table, and so meets every document. */
  #walking({ spans }: EnrichmentProgress): EnrichmentProgress {
    const after = spans[0]?.after
    const toEnd: WalkedSpan = { after, last: undefined }
    const fromStart: WalkedSpan = { after: undefined, last: after }
    return {
      sequence: this.#with.led.appliedSequence,
      spans: after === undefined ? [toEnd] : [toEnd, fromStart],
    }
  }
}

const SHOWN: Readonly<Record<TroubleKind, string>> = {
  silent: 'the model gives no good answer since',
  limited: 'the model wants fewer calls since',
  unfit: 'the model does not fit the index since',
}

function showTrouble({ kind, sinceMs, message }: Trouble): string {
  return `${SHOWN[kind]} ${new Date(sinceMs).toISOString()}: ${message}`
}

function showMissing({ sinceMs, message }: Missing): string {
  const since = new Date(sinceMs).toISOString()
  return `documents with files wait since ${since} for their summarizer: ${message}`
}
