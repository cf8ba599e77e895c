// The models that a query may need. A node that lacks one refuses the member of the query that needs it.

import type { Judgement } from '../../providers/contract/provider.ts'
import type { RerankerConfig } from '../../query/request/reranker-request.ts'

/** A text to embed as the index embeds its documents. */
export interface EmbeddedQuery {
  readonly table: string
  readonly index: string
  readonly text: string
  /** Filled with the text first; it may bring images. Undefined: the text is embedded as it is. */
  readonly template: string | undefined
}

/** The best hits of a query, for a model that scores each beside the query. */
export interface RerankedQuery {
  readonly config: RerankerConfig
  readonly query: string
  readonly documents: readonly string[]
}

/** A document that a model reads as a text. */
export interface RenderedDocument {
  readonly key: string
  readonly json: Buffer
  /** Undefined: as the product writes documents for models. */
  readonly template: string | undefined
}

/**
 * What queries ask models. Contract:
 * - Every call ends soon after its signal aborts, with the signal's reason.
 * - INVALID_ARGUMENT for what the client has to change (a template, a model that is unknown); any other
 *   ServiceError for a model that does not answer. It never names a secret.
 * - `embedQuery` answers a vector of finite numbers of the index's dimension. Equal questions may be answered
 *   from a cache.
 * - `rerank` answers one finite score for each document, in their order; larger is better; and of how many it has not
 *   read the end, if the model tells.
 * - `renderDocument` answers the text for a model.
 */
export interface QueryModels {
  embedQuery?(query: EmbeddedQuery, signal: AbortSignal): Promise<Float32Array>
  rerank?(query: RerankedQuery, signal: AbortSignal): Promise<Judgement>
  renderDocument?(document: RenderedDocument, signal: AbortSignal): Promise<string>
}
