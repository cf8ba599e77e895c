import type { EmbedPart, EmbedUse } from '../contract/provider.ts'

/** The parts of one item, at least one. */
export type EmbedItem = readonly EmbedPart[]

/** How numbers arrive: as they are, in base64, or as decimals. */
export type NumberForm = 'binary' | 'base64' | 'decimal'

/** The limits of one request. */
export interface RequestLimits {
  readonly itemsMax: number
  /** The bytes of all texts and data URIs together. An item with more goes alone. */
  readonly bytesMax: number
}

/** What a request is made with. */
export interface RequestOptions {
  readonly use: EmbedUse
  readonly signal: AbortSignal
  /** The most bytes that an answer to these items may have. */
  readonly answerBytesMax: number
}

/** The numbers of one answer. */
export interface EmbeddedItems {
  /** As they came: nothing about them is checked. */
  readonly vectors: readonly Float32Array[]
  readonly form: NumberForm
}

/**
 * The requests of one provider's model. Contract:
 * - `request` makes one request for items within the limits, and resolves to what came back, in order.
 * - It rejects with a ProviderError, or with the signal's reason.
 * - It keeps no state: `BatchedEmbedder` has the batches, the pace and the checks.
 */
export interface EmbedProtocol {
  readonly name: string
  readonly acceptsImages: boolean
  readonly limits: RequestLimits
  /** The form that is asked for. A provider may answer another one. */
  readonly form: NumberForm
  /** The dimension that was asked for; undefined: the model's. */
  readonly dimension: number | undefined
  request(items: readonly EmbedItem[], options: RequestOptions): Promise<EmbeddedItems>
}
