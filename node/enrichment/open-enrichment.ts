// The enrichment of one managed index: its reader, its preparer and its embedder together.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { runSliced, type Sliced } from '../../lib/sliced.ts'
import type { DenseArtifact } from '../embedding/artifact.ts'
import type { ManagedIndexSettings } from '../embedding/settings.ts'
import { parseEmbedderConfig } from '../providers/config/parse-embedder-config.ts'
import type { Embedder } from '../providers/contract/provider.ts'
import { isProviderError } from '../providers/contract/provider-error.ts'
import type { Providers } from '../providers/providers.ts'
import type { TemplateCache } from '../template/template-cache.ts'
import { embedItems, type Embedded } from './embed-items.ts'
import type { Enrichment, Made, MakeOptions, Source, SourceDocument } from './enrichment.ts'
import { AwayError } from './prepare/away-error.ts'
import type { PreparedSource, SourcePreparer } from './prepare/source-preparer.ts'
import { openPreparer, parsePreparation, type PreparerParts } from './prepare/model-preparer.ts'
import { enrichmentKey, hashSource } from './source-hash.ts'
import { buildSourceReader, type SourceReader } from './source-reader.ts'

/** A managed index, by its table's record. */
export interface ManagedIndex {
  readonly id: string
  readonly name: string
  readonly settings: ManagedIndexSettings
}

/** What enrichments of a node share. */
export interface EnrichmentParts {
  readonly clock: Clock
  readonly providers: Pick<Providers, 'embedders' | 'generators' | 'chunkers'>
  readonly media: PreparerParts['media']
  readonly templates: TemplateCache
}

/** One request of the local provider has at most 256 texts. */
const BATCH = { items: 256, bytes: 1024 * 1024 }
/** A source of many chunks fills requests alone, and its vectors take up to 16 MiB. */
const BATCH_OF_CHUNKED = { items: 16, bytes: 256 * 1024 }
/**
 * Sources of one call that are prepared at once: files of some arrive while others are read. Those with files are
 * embedded before the next ones are read, because their files are in memory until then.
 */
const PREPARED_AT_ONCE = 8

/** Opens the enrichment of an index. Nobody is asked anything. INVALID_ARGUMENT for settings that mean nothing. */
export function openEnrichment(index: ManagedIndex, parts: EnrichmentParts): Enrichment {
  const { settings, name } = index
  const where = `index "${name}"`
  const config = parseEmbedderConfig(settings.embedder, `${where}: embedder`)
  const preparation = parsePreparation(settings, where)
  const read = buildSourceReader(settings.source, parts.templates)
  const embedder = parts.providers.embedders.borrow(config)
  const preparer = openPreparer(preparation, { ...parts, embedder })
  return new IndexEnrichment(index, { clock: parts.clock, read, preparer, embedder })
}

interface Opened {
  readonly clock: Clock
  readonly read: SourceReader
  readonly preparer: SourcePreparer
  readonly embedder: Embedder
}

/** A source that was prepared, or why it could not be. */
type Prepared = PreparedSource | { readonly failure: Failure }
type Failure = Exclude<Made, { readonly kind: 'made' }>

class IndexEnrichment implements Enrichment {
  readonly index: string
  readonly batch: Enrichment['batch']
  readonly #settings: ManagedIndexSettings
  readonly #key: string
  readonly #with: Opened

  constructor({ id, settings }: ManagedIndex, opened: Opened) {
    this.index = id
    this.batch = settings.chunker === undefined ? BATCH : BATCH_OF_CHUNKED
    this.#settings = settings
    this.#key = enrichmentKey(settings)
    this.#with = opened
  }

  sourceOf({ json }: SourceDocument, { signal }: MakeOptions): Promise<Source> {
    return runSliced(this.#readSource(json), { clock: this.#with.clock, signal })
  }

  *#readSource(json: Buffer): Sliced<Source> {
    const parts = yield* this.#with.read(json)
    const hash = yield* hashSource(this.#key, parts)
    const lengths = parts.map((part) => (part.kind === 'text' ? part.text : part.url).length)
    return { parts, hash, bytes: lengths.reduce((sum, length) => sum + length, 0) }
  }

  async make(sources: readonly Source[], { signal }: MakeOptions): Promise<readonly Made[]> {
    signal.throwIfAborted()
    const made: Made[] = []
    const count = sources.some(hasFiles) ? PREPARED_AT_ONCE : sources.length
    for (let from = 0; from < sources.length; from += count) {
      made.push(...(await this.#makeTogether(sources.slice(from, from + count), signal)))
    }
    return made
  }

  async close(): Promise<void> {
    await this.#with.preparer.close()
    await this.#with.embedder.close()
  }

  async #makeTogether(sources: readonly Source[], signal: AbortSignal): Promise<readonly Made[]> {
    const prepared = await this.#prepareAll(sources, signal)
    try {
      return await this.#embedAll(sources, prepared, signal)
    } finally {
      release(prepared)
    }
  }

  async #embedAll(
    sources: readonly Source[],
    prepared: readonly Prepared[],
    signal: AbortSignal,
  ): Promise<readonly Made[]> {
    const items = prepared.flatMap((one) =>
      'rows' in one ? one.rows.map(({ parts }) => parts) : [],
    )
    const embedded = await embedItems(this.#with.embedder, items, signal)
    this.#checkDimension(embedded)
    let next = 0
    return sources.map((source, at) => {
      const one = prepared[at]
      if (one === undefined) return refusedAs('')
      if ('failure' in one) return one.failure
      const rows = embedded.slice(next, next + one.rows.length)
      next += one.rows.length
      return this.#madeOf(source, one, rows)
    })
  }

  /** All calls have ended when it rejects, and nothing is held. */
  async #prepareAll(sources: readonly Source[], signal: AbortSignal): Promise<readonly Prepared[]> {
    const prepared: Prepared[] = []
    const failed = new AbortController()
    const options = { signal: AbortSignal.any([signal, failed.signal]) }
    const todo = sources.entries()
    const prepareSome = async (): Promise<void> => {
      for (const [at, source] of todo) prepared[at] = await this.#prepare(source, options)
    }
    const runs = Array.from({ length: Math.min(PREPARED_AT_ONCE, sources.length) }, () =>
      prepareSome().catch((error: unknown) => failed.abort(error)),
    )
    await Promise.all(runs)
    if (failed.signal.aborted) {
      release(prepared)
      throw failed.signal.reason
    }
    return prepared
  }

  async #prepare(source: Source, options: MakeOptions): Promise<Prepared> {
    if (source.parts.length === 0) return { rows: [] }
    options.signal.throwIfAborted()
    try {
      return await this.#with.preparer.prepare(source, options)
    } catch (error) {
      options.signal.throwIfAborted()
      if (error instanceof AwayError) {
        return { failure: { kind: 'away', part: error.part, message: error.message } }
      }
      if (!isServiceError(error) || error.code !== 'INVALID_ARGUMENT') throw error
      // A summarizer that refuses its configuration says so as a provider, as the embedder does.
      if (isProviderError(error) && error.failure.kind !== 'refused') throw error
      return { failure: refusedAs(error.message) }
    }
  }

  #checkDimension(embedded: readonly Embedded[]): void {
    const { dimension } = this.#settings
    const wrong = embedded.find((one) => one.kind === 'vector' && one.vector.length !== dimension)
    if (wrong?.kind !== 'vector') return
    const { name } = this.#with.embedder
    const problem = `${name}: it answers vectors of ${wrong.vector.length} numbers, and the index has vectors of ${dimension}`
    throw new ServiceError('INVALID_ARGUMENT', problem)
  }

  #madeOf(source: Source, { rows, texts }: PreparedSource, embedded: readonly Embedded[]): Made {
    const { dimension, metric } = this.#settings
    const made: DenseArtifact['rows'][number][] = []
    for (const [at, { start, end }] of rows.entries()) {
      const one = embedded[at]
      if (one?.kind !== 'vector') return refusedAs(one?.message ?? '')
      if (metric === 'cosine' && one.vector.every((number) => number === 0)) {
        const { name } = this.#with.embedder
        return refusedAs(`${name}: it answers only zeros, which have no direction for cosine`)
      }
      made.push({ start, end, vector: one.vector })
    }
    const head = { kind: 'dense', ordinal: 0, sourceHash: source.hash, dimension } as const
    const artifact = { ...head, rows: made, ...(texts === undefined ? {} : { texts }) }
    return { kind: 'made', artifact }
  }
}

function hasFiles({ parts }: Source): boolean {
  return parts.some(({ kind }) => kind === 'media')
}

function release(prepared: readonly Prepared[]): void {
  for (const one of prepared) if ('rows' in one) one.held?.[Symbol.dispose]()
}

function refusedAs(message: string): Extract<Made, { readonly kind: 'refused' }> {
  return { kind: 'refused', message }
}
