// Runs writes that wait for vectors: they are made first, and committed with their documents by one transaction.
//
//   enrichments, full_index   vectors, or nothing is written
//   aknn                      vectors if they come in time; else the enricher makes them later
//   others                    the enricher makes them

import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { SyncLevel } from '../../document/writes.ts'
import type { Enrichment } from '../../enrichment/enrichment.ts'
import type { ManagedIndex } from '../../enrichment/open-enrichment.ts'
import type { ModelPool } from '../../providers/pool/model-pool.ts'
import { EnrichedParts, managedIndexesOf } from './enriched-parts.ts'
import { TransformResolver } from './resolved-transforms.ts'
import type { RunOutcome, TransactionConflict } from '../run-outcome.ts'
import type { TransactionPart } from '../transaction-part.ts'
import type { RunOptions, TransactionRunner } from '../transaction-runner.ts'
import { VectorMemory, type VectorShare } from './held-vectors.ts'

/** What a writer works with. */
export interface EnrichedWriterOptions {
  readonly clock: Clock
  readonly runner: Pick<TransactionRunner, 'run'>
  /** Undefined: the node asks no models. */
  readonly enrichments: ModelPool<ManagedIndex, Enrichment> | undefined
  readonly memory?: VectorMemory
}

/** How a write is run, and what it waits for. */
export interface WriteRunOptions extends Omit<RunOptions, 'awaitResolution'> {
  readonly syncLevel: SyncLevel
}

interface EnrichLimits {
  readonly timeoutMs: number
  readonly isBestEffort: boolean
  readonly share: VectorShare
}

type Wish = 'none' | 'best-effort' | 'required'

const WISHES: Readonly<Record<SyncLevel, Wish>> = {
  propose: 'none',
  write: 'none',
  full_text: 'none',
  enrichments: 'required',
  aknn: 'best-effort',
  full_index: 'required',
}
/** A write that needs its vectors fails after it; as long as one answer of a slow provider may take. */
const REQUIRED_MS = 60_000
/** A write that wants its vectors goes without them after it. */
const BEST_EFFORT_MS = 10_000
/** How often a document that a transform changes may change under it. */
const ATTEMPTS_MAX = 10

/** Commits writes, with vectors where their sync level asks for them. */
export class EnrichedWriter {
  readonly #with: EnrichedWriterOptions
  readonly #memory: VectorMemory

  constructor({ memory = new VectorMemory(), ...options }: EnrichedWriterOptions) {
    this.#with = options
    this.#memory = memory
  }

  /** As `TransactionRunner.run`; also rejects as `EnrichedParts.enrich` does, with nothing written. */
  run(parts: readonly TransactionPart[], options: WriteRunOptions): Promise<RunOutcome> {
    const wish = WISHES[options.syncLevel]
    const isPlain = wish === 'none' || !parts.some(wantsVectors)
    if (isPlain) return this.#commit(parts, options)
    return wish === 'required'
      ? this.#runWith(parts, options, REQUIRED_MS)
      : this.#tryWith(parts, options)
  }

  async #runWith(
    parts: readonly TransactionPart[],
    options: WriteRunOptions,
    timeoutMs: number,
  ): Promise<RunOutcome> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      using share = this.#memory.share()
      const limits = { timeoutMs, isBestEffort: false, share }
      const enriched = await this.#enriched(parts, options, limits)
      const outcome = await this.#commit(enriched, options)
      if (outcome.kind === 'committed' || isOfClient(outcome, parts)) return outcome
    }
    const problem = 'other clients kept changing documents that the transforms change'
    throw new ServiceError('CONFLICT', `${problem}; try again later`)
  }

  /** Without vectors, the shard applies the transforms. */
  async #tryWith(parts: readonly TransactionPart[], options: WriteRunOptions): Promise<RunOutcome> {
    using share = this.#memory.share()
    const limits = { timeoutMs: BEST_EFFORT_MS, isBestEffort: true, share }
    const enriched = await this.#enriched(parts, options, limits).catch((error: unknown) => {
      options.signal?.throwIfAborted()
      if (error instanceof ServiceError) return parts
      throw error
    })
    const outcome = await this.#commit(enriched, options)
    if (outcome.kind === 'committed' || isOfClient(outcome, parts)) return outcome
    return this.#commit(parts, options)
  }

  #commit(
    parts: readonly TransactionPart[],
    { syncLevel, ...options }: WriteRunOptions,
  ): Promise<RunOutcome> {
    return this.#with.runner.run(parts, { ...options, awaitResolution: syncLevel !== 'propose' })
  }

  async #enriched(
    parts: readonly TransactionPart[],
    { signal }: WriteRunOptions,
    { timeoutMs, isBestEffort, share: memory }: EnrichLimits,
  ): Promise<readonly TransactionPart[]> {
    const { clock, enrichments } = this.#with
    if (enrichments === undefined) {
      throw new ServiceError('UNAVAILABLE', 'this node asks no models; use another sync_level')
    }
    const late = new AbortController()
    const ends = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    const transforms = new TransformResolver({ clock, signal: ends, memory })
    const vectors = new EnrichedParts({ clock, enrichments, signal: ends, memory, isBestEffort })
    const enrichAll = async (): Promise<readonly TransactionPart[]> => {
      const enriched: TransactionPart[] = []
      for (const part of parts) {
        enriched.push(
          wantsVectors(part) ? await vectors.enrich(await transforms.resolve(part)) : part,
        )
      }
      return enriched
    }
    const problem = `vectors were not made within ${timeoutMs} ms, and nothing was written; divide the request, or use another sync_level`
    const onLate = (): void => late.abort(new ServiceError('DEADLINE_EXCEEDED', problem))
    return prodWhenLate(enrichAll(), { clock, ms: timeoutMs, onLate })
  }
}

function wantsVectors({ table, ops }: TransactionPart): boolean {
  return ops.length > 0 && managedIndexesOf(table).length > 0
}

/** Whether the client has asked for what failed; else a document changed between its reading and the write. */
function isOfClient(
  { reason, key, table }: TransactionConflict,
  parts: readonly TransactionPart[],
): boolean {
  if (reason !== 'version_changed') return true
  const claimed = parts.filter((part) => part.table.record.name === table)
  return claimed.some(({ checks }) => checks.some((check) => check.key.equals(key)))
}
