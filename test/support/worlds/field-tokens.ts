import type { IndexableField, IndexableToken } from '../../../node/index/text/indexable-document.ts'

type TextField = Extract<IndexableField, { readonly kind: 'text' }>

/** All tokens of a field. */
export function tokensOf({ tokens }: TextField): readonly IndexableToken[] {
  return tokens.slice(0, tokens.length)
}
