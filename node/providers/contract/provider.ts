// What the store asks of models elsewhere: vectors, texts about media, scores and chunks. Each interface has
// one implementation, over the wire protocols of wire/, and conformance tests for all of them.

/** A part of what is embedded or shown to a model. `dataUri` is `data:<media type>;base64,<data>`. */
export type EmbedPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly dataUri: string }

/** What a generator may be shown beside texts. */
export type ShownMedium = 'image' | 'audio' | 'video'

/** A part of a prompt. */
export type PromptPart =
  | EmbedPart
  /** A sound or a film, as an image. */
  | { readonly kind: 'audio' | 'video'; readonly dataUri: string }

/** What a vector is for. Some models embed questions and documents differently. */
export type EmbedUse = 'document' | 'query'

/** The conditions of one call. */
export interface EmbedOptions {
  /** Rejects the call with its reason, and ends its requests. */
  readonly signal: AbortSignal
  readonly use: EmbedUse
}

/**
 * A model that makes dense vectors.
 *
 * Contract, checked for every provider by test/conformance/embedder.ts:
 * - `embed` resolves to one vector for each item, in their order. All numbers are finite, and all vectors have one
 *   dimension. A call fails that is answered another one than the call before; when it is answered again, the model
 *   is taken to have it, unless the configuration says otherwise. An empty list of items needs no request.
 * - An item is all of its parts together, at least one. Parts of images are refused unless `acceptsImages`.
 * - Every failure but the signal's reason is a `ProviderError`. Its message names the model and what was
 *   wrong, and holds no secret. A failed call has no other effect, and may be made again.
 * - `embed` retries nothing. It waits for its turn (`ProviderPace`), with `use: 'query'` for at most a second, and is
 *   UNAVAILABLE for a query that has no answer after 15 seconds.
 * - After `close`, calls that run and all later ones reject with UNAVAILABLE.
 */
export interface Embedder {
  /** Provider and model, for messages. */
  readonly name: string
  readonly acceptsImages: boolean
  embed(
    items: readonly (readonly EmbedPart[])[],
    options: EmbedOptions,
  ): Promise<readonly Float32Array[]>
  close(): Promise<void>
}

/** A model that continues a prompt, such as one that describes images. */
export interface Generator {
  readonly name: string
  /** Other media are refused. */
  readonly accepts: readonly ShownMedium[]
  /**
   * The text that the model answers to the parts as one message of a user. Rejects as `Embedder.embed`
   * does, also if the model answers no text.
   */
  generate(parts: readonly PromptPart[], options: { readonly signal: AbortSignal }): Promise<string>
  close(): Promise<void>
}

/** What a model made of documents. */
export interface Judgement {
  /** One for each document, in order; larger is better. */
  readonly scores: readonly number[]
  /** The number of documents whose end the model has not read; undefined: it does not tell. */
  readonly cutCount: number | undefined
}

/** A model that judges documents by a query. */
export interface Reranker {
  readonly name: string
  /**
   * Scores of different calls compare only if the model makes them so. Rejects as `Embedder.embed` does.
   */
  rerank(
    query: string,
    documents: readonly string[],
    options: { readonly signal: AbortSignal },
  ): Promise<Judgement>
  close(): Promise<void>
}

/** A part of a text. `start` and `end` are offsets in it, in UTF-16 code units. */
export interface TextChunk {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** The most chunks of a text that a chunker can be asked for, by the contract of the inference API. */
export const CHUNKS_MAX = 10_000

/** A model or a rule that cuts texts. Chunks are in order and may overlap. */
export interface Chunker {
  readonly name: string
  /** Rejects as `Embedder.embed` does. */
  chunk(text: string, options: { readonly signal: AbortSignal }): Promise<readonly TextChunk[]>
  close(): Promise<void>
}
