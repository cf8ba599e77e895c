// Prepares sources with all that an index may have set:
//
//   parts ──► files read ──► with a summarizer, where files are shown: its description in place of all parts
//                                              │
//                                              ▼
//             one row for all, or, with a chunker, a row for each chunk and for each image

import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { ManagedIndexSettings } from '../../embedding/settings.ts'
import type { MediaBudget } from '../../media/media-budget.ts'
import type { MediaResolver } from '../../media/media-resolver.ts'
import {
  parseChunkerConfig,
  parseGeneratorConfig,
} from '../../providers/config/parse-task-configs.ts'
import type { ChunkerConfig, GeneratorConfig } from '../../providers/config/provider-config.ts'
import type { Chunker, Embedder, Generator, PromptPart } from '../../providers/contract/provider.ts'
import { unavailable } from '../../providers/contract/provider-error.ts'
import type { LentModel } from '../../providers/pool/model-pool.ts'
import type { Providers } from '../../providers/providers.ts'
import type { MakeOptions, PreparedSource, Source, SourcePreparer } from './source-preparer.ts'
import { AwayError } from './away-error.ts'
import { chunkText } from './chunk-text.ts'
import { resolveParts } from './resolve-parts.ts'
import { checkSize, placeParts, rowsOfChunks, wholeRow, type PlacedParts } from './source-rows.ts'
import { needsSummary, Summarizer } from './summarize.ts'

/** For all files of a source together: sources that are prepared with it wait for the slowest. */
const FILES_MS_MAX = 120_000

/** What a preparer is built from. The embedder decides whether images are embedded as they are. */
export interface PreparerParts {
  readonly clock: Clock
  readonly providers: Pick<Providers, 'generators' | 'chunkers'>
  readonly media: {
    readonly resolver: Pick<MediaResolver, 'resolve'>
    readonly budget: MediaBudget
  }
  readonly embedder: Pick<Embedder, 'name' | 'acceptsImages'>
}

/** The settings of an index that decide how its sources are prepared. */
export type PreparerSettings = Pick<ManagedIndexSettings, 'dimension' | 'summarizer' | 'chunker'>

/** The models that prepare sources, as the settings of an index have them. */
export interface Preparation {
  readonly dimension: number
  readonly summarizer: GeneratorConfig | undefined
  readonly chunker: ChunkerConfig | undefined
  /** Whether the texts of chunks are kept. */
  readonly keepsChunks: boolean
}

/** Reads the settings. INVALID_ARGUMENT if a configuration is malformed; `where` names the index in messages. */
export function parsePreparation(settings: PreparerSettings, where: string): Preparation {
  const { dimension, summarizer, chunker } = settings
  return {
    dimension,
    summarizer: summarizer && parseGeneratorConfig(summarizer, `${where}: summarizer`),
    chunker: chunker && parseChunkerConfig(chunker.config, `${where}: chunker`),
    keepsChunks: chunker !== undefined && (chunker.storeChunks || chunker.fullText),
  }
}

/** Opens the preparer of an index. Nobody is asked anything. */
export function openPreparer(preparation: Preparation, parts: PreparerParts): SourcePreparer {
  const { summarizer, chunker } = preparation
  return new ModelPreparer({
    ...parts,
    preparation,
    summarizer: summarizer && parts.providers.generators.lend(summarizer),
    chunker: chunker && parts.providers.chunkers.lend(chunker),
  })
}

interface Opened extends Omit<PreparerParts, 'providers'> {
  readonly preparation: Preparation
  readonly summarizer: LentModel<Generator> | undefined
  readonly chunker: LentModel<Chunker> | undefined
}

class ModelPreparer implements SourcePreparer {
  readonly #with: Opened
  readonly #closing = new AbortController()
  readonly #summarizer: Summarizer | undefined

  constructor(opened: Opened) {
    const { summarizer, clock } = opened
    this.#with = opened
    this.#summarizer = summarizer && new Summarizer(summarizer.model, clock)
  }

  async prepare({ parts }: Source, options: MakeOptions): Promise<PreparedSource> {
    this.#closing.signal.throwIfAborted()
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const late = parts.some(({ kind }) => kind === 'media') ? new AbortController() : undefined
    const { budget, resolver } = this.#with.media
    const holding = budget.hold(late ? AbortSignal.any([signal, late.signal]) : signal)
    try {
      const resolving = resolveParts(parts, resolver, holding)
      const resolved = await (late === undefined ? resolving : this.#inTime(resolving, late))
      const prepared = await this.#prepareResolved(resolved, signal)
      checkSize(prepared, this.#with.preparation.dimension)
      return { ...prepared, held: holding }
    } catch (error) {
      holding[Symbol.dispose]()
      throw error
    }
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(unavailable('the preparer of the index is closed'))
    await this.#with.summarizer?.giveBack()
    await this.#with.chunker?.giveBack()
  }

  #inTime<Value>(work: Promise<Value>, late: AbortController): Promise<Value> {
    const message = `the files that it names take more than ${FILES_MS_MAX} ms`
    return prodWhenLate(work, {
      clock: this.#with.clock,
      ms: FILES_MS_MAX,
      onLate: () => late.abort(new AwayError('file', message)),
    })
  }

  async #prepareResolved(
    parts: readonly PromptPart[],
    signal: AbortSignal,
  ): Promise<PreparedSource> {
    if (this.#summarizer === undefined || !needsSummary(parts)) {
      const placed = placeParts(parts)
      this.#checkImages(placed)
      return this.#cut(placed, signal)
    }
    const summary = await this.#summarizer.describe(parts, signal)
    const { rows, texts } = await this.#cut({ text: summary, images: [] }, signal)
    return { rows, texts: { ...texts, summary } }
  }

  async #cut(placed: PlacedParts, signal: AbortSignal): Promise<PreparedSource> {
    const { chunker, preparation } = this.#with
    const chunksMax = preparation.chunker?.chunksMax
    if (chunker === undefined) return { rows: wholeRow(placed) }
    const chunks = await chunkText(placed.text, { chunker: chunker.model, chunksMax, signal })
    const rows = rowsOfChunks(chunks, placed)
    if (!preparation.keepsChunks) return { rows }
    return { rows, texts: { chunks: rows.map((_, at) => chunks[at]?.text ?? '') } }
  }

  #checkImages({ images }: PlacedParts): void {
    const { name, acceptsImages } = this.#with.embedder
    if (images.length === 0 || acceptsImages) return
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${name} embeds no images; give the index a summarizer that describes them, or a multimodal embedder`,
    )
  }
}
