import { TermTable } from '../../../node/index/text/encoding/term-table.ts'
import type {
  IndexableField,
  IndexableToken,
  TokenSequence,
} from '../../../node/index/text/indexable-document.ts'
import { TokenList } from '../../../node/index/text/mapping/token-list.ts'

type TextField = Extract<IndexableField, { readonly kind: 'text' }>

/** All tokens of a field. */
export function tokensOf({ tokens }: Pick<TextField, 'tokens'>): readonly IndexableToken[] {
  const { terms } = tokens
  return tokens.chunks.flatMap((chunk) =>
    Array.from({ length: chunk.length }, (_, i) => ({
      term: terms.at(chunk.pairs[2 * i]!),
      position: chunk.pairs[2 * i + 1]!,
    })),
  )
}

/** Tokens as a document has them, with a table of their own by default. */
export function tokenListOf(
  tokens: readonly IndexableToken[],
  terms: TermTable = new TermTable(),
): TokenSequence {
  const list = new TokenList(terms)
  for (const { term, position } of tokens) list.push(terms.numberOf(term), position)
  return list
}
