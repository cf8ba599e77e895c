// Embeds what queries look for, as their indexes embed documents.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { runSliced, type Sliced } from '../../../lib/sliced.ts'
import type { ManagedIndexSettings } from '../../embedding/settings.ts'
import { refusesAnything } from '../../enrichment/embed-items.ts'
import { resolveParts } from '../../enrichment/prepare/resolve-parts.ts'
import type { SourcePart } from '../../enrichment/prepare/source-preparer.ts'
import { placeParts, wholeRow } from '../../enrichment/prepare/source-rows.ts'
import type { Media } from '../../media/open-media.ts'
import { configurationKey } from '../../providers/config/configuration-key.ts'
import { parseEmbedderConfig } from '../../providers/config/parse-embedder-config.ts'
import type { EmbedderConfig } from '../../providers/config/provider-config.ts'
import type { EmbedPart, Embedder, PromptPart } from '../../providers/contract/provider.ts'
import { ModelPool } from '../../providers/pool/model-pool.ts'
import { isProviderError, unavailable } from '../../providers/contract/provider-error.ts'
import type { QueryText } from '../../providers/embedding/query-vectors.ts'
import type { Providers } from '../../providers/providers.ts'
import { refuse } from '../../query/query-limits.ts'
import { RENDER_LIMITS_DEFAULT } from '../../template/render-budget.ts'
import { renderTemplate } from '../../template/render-template.ts'
import type { TemplateCache } from '../../template/template-cache.ts'
import type { EmbeddedQuery } from './query-models.ts'

/** Those that were asked lately stay open, and with them the pace at which their providers may be asked. */
const EMBEDDERS_KEPT_MAX = 64

/** What queries are embedded with. */
export interface QueryEmbedderParts {
  readonly clock: Clock
  readonly providers: Pick<Providers, 'embedders' | 'queryVectors'>
  readonly templates: TemplateCache
  readonly media: Pick<Media, 'resolver' | 'budget'>
  /** The settings of an index whose vectors the store makes; undefined for any other. */
  readonly settingsOf: (table: string, index: string) => ManagedIndexSettings | undefined
}

/** Embeds queries (see `QueryModels.embedQuery`). Equal questions are answered from a cache for a while. */
export class QueryEmbedder implements AsyncDisposable {
  readonly #with: QueryEmbedderParts
  readonly #embedders: ModelPool<EmbedderConfig, Embedder>

  constructor(parts: QueryEmbedderParts) {
    this.#with = parts
    this.#embedders = new ModelPool(
      (config) => parts.providers.embedders.borrow(config),
      EMBEDDERS_KEPT_MAX,
    )
  }

  /** Rejects as `Embedder.embed` does; also with UNAVAILABLE if the model answers another dimension. */
  async embed(query: EmbeddedQuery, signal: AbortSignal): Promise<Float32Array> {
    const { table, index } = query
    const settings = this.#with.settingsOf(table, index)
    if (settings === undefined) {
      throw new ServiceError('NOT_FOUND', `index "${index}" of table "${table}" embeds no texts`)
    }
    const config = parseEmbedderConfig(settings.embedder, `index "${index}": embedder`)
    const read = await runSliced(this.#partsOf(query), { clock: this.#with.clock, signal })
    const { resolver, budget } = this.#with.media
    using holding = budget.hold(signal)
    const resolved = await resolveParts(read, resolver, holding)
    return this.#embedders.use(config, async (embedder) => {
      const parts = shownParts(resolved, embedder)
      const asked = { embedder, key: configurationKey(config), parts }
      const vector = await this.#vectorOf(asked, signal)
      if (vector.length === settings.dimension) return vector
      const problem = `it answers vectors of ${vector.length} numbers, and index "${index}" has ${settings.dimension}`
      throw new ServiceError('UNAVAILABLE', `${embedder.name}: ${problem}`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#embedders[Symbol.asyncDispose]()
  }

  /** A refused text is the fault of the caller, a refused key is not. */
  async #vectorOf(asked: QueryText, signal: AbortSignal): Promise<Float32Array> {
    try {
      return await this.#with.providers.queryVectors.vectorOf(asked, signal)
    } catch (error) {
      if (!isProviderError(error) || error.failure.kind !== 'refused') throw error
      if (!(await refusesAnything(asked.embedder, { signal, use: 'query' }))) throw error
      throw unavailable(error.message)
    }
  }

  /** In a template, `this` is the text. */
  *#partsOf({ text, template }: EmbeddedQuery): Sliced<readonly SourcePart[]> {
    if (template === undefined) return [{ kind: 'text', text }]
    const compiled = yield* this.#with.templates.get(template)
    return yield* renderTemplate(compiled, text, RENDER_LIMITS_DEFAULT)
  }
}

/** All texts as one, and the images. */
function shownParts(
  resolved: readonly PromptPart[],
  { name, acceptsImages }: Embedder,
): readonly EmbedPart[] {
  const other = resolved.find(({ kind }) => kind === 'audio' || kind === 'video')
  if (other !== undefined) {
    return refuse('embedding_template', `names ${other.kind}, which no model embeds`)
  }
  const [row] = wholeRow(placeParts(resolved))
  if (row === undefined) return refuse('embedding_template', 'makes an empty text')
  if (acceptsImages || row.parts.every(({ kind }) => kind === 'text')) return row.parts
  return refuse('embedding_template', `names images, and ${name} embeds texts alone`)
}
