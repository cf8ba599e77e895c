import { estimateTokens } from '../token-estimate.ts'

/** Text or an image on its way into the vector space of a model. */
export type EmbedItem =
  | {
      readonly kind: 'text'
      /** With the prompt in front. */
      readonly text: string
      /** Whether a text that is too long is cut, or refused. */
      readonly truncate: boolean
    }
  /** A text as ids of the model's own tokenizer, without special tokens. */
  | { readonly kind: 'tokens'; readonly ids: readonly number[]; readonly truncate: boolean }
  | { readonly kind: 'image'; readonly bytes: Uint8Array }

export interface EmbedResult {
  /** Of length 1, unless it is all zeros. */
  readonly vector: Float32Array
  /** Tokens that the model saw; 0 for an image. */
  readonly tokens: number
}

const SPECIAL_TOKENS = 2
/** About what one image of the usual 224 pixels costs: 7 × 7 patches of 32 to 14 × 14 of 16. */
const IMAGE_COST = 128

/** About how many tokens the item has; `maxTokens` is where it is cut. */
export function costOfEmbedItem(item: EmbedItem, maxTokens: number): number {
  if (item.kind === 'image') return IMAGE_COST
  const tokens = item.kind === 'tokens' ? item.ids.length : estimateTokens(item.text.length)
  return Math.min(maxTokens, tokens + SPECIAL_TOKENS)
}
