import { estimateTokens } from '../token-estimate.ts'

/** A text or an image to be embedded by a model. */
export type EmbedItem =
  | {
      readonly kind: 'text'
      /** The text with the prompt in front. */
      readonly text: string
      /** True: a text that is too long is truncated. False: it is refused. */
      readonly truncate: boolean
    }
  /** A text as token ids of the model's own tokenizer, without special tokens. */
  | { readonly kind: 'tokens'; readonly ids: readonly number[]; readonly truncate: boolean }
  | { readonly kind: 'image'; readonly bytes: Uint8Array }

/** The embedding of one item. */
export interface EmbedResult {
  /** A vector of length 1, or all zeros. */
  readonly vector: Float32Array
  /** The tokens that the model read; 0 for an image. */
  readonly tokens: number
  /** Whether the model has not read the end of the text. */
  readonly isCut: boolean
}

const SPECIAL_TOKENS = 2
/**
 * The approximate cost of an image of the usual 224 pixels: 7 × 7 patches of 32 to 14 × 14 of 16.
 */
const IMAGE_COST = 128

/** The estimated number of tokens of the item, at most `maxTokens`. */
export function costOfEmbedItem(item: EmbedItem, maxTokens: number): number {
  if (item.kind === 'image') return IMAGE_COST
  const tokens = item.kind === 'tokens' ? item.ids.length : estimateTokens(item.text.length)
  return Math.min(maxTokens, tokens + SPECIAL_TOKENS)
}
