// When a value is the typed text: it has these words and no others, whatever their case and accents; or it is the same
// text but for the case. The words alone cannot tell, because documents also have the parts of words like
// "JavaScript" as words, and who looks for "javascript" does not type these.

import { CANONICAL } from '../analysis/fold-term.ts'
import { byteOfLength } from '../encoding/small-float.ts'
import { KEYWORD_SUFFIX } from './field-names.ts'
import { anyCaseMatchers } from './term-matchers.ts'
import type { WholeForm } from '../engine-query.ts'
import type { IndexedField } from './field-registry.ts'
import type { QueryContext } from './query-context.ts'

/** A term of a keyword field. */
export interface KeywordTerm {
  readonly field: string
  readonly term: string
}

/** The keyword that the text is as a whole value of the field; undefined if the field has no keywords. */
export function keywordOf(
  { indexField }: IndexedField,
  text: string,
  context: QueryContext,
): KeywordTerm | undefined {
  const whole = context.mapping.resolveField(indexField + KEYWORD_SUFFIX)
  if (whole?.kind !== 'keyword') return undefined
  return { field: whole.indexField, term: CANONICAL.term(text) }
}

/** The forms of a value that has these words and no others; an empty list without words. */
export function wordForms(
  field: IndexedField,
  text: string,
  context: QueryContext,
): readonly WholeForm[] {
  const typed = wordForm(field, text, context)
  const lower = wordForm(field, text.toLowerCase(), context)
  if (typed === undefined || lower === undefined) return []
  return typed.length === lower.length ? [typed] : [typed, lower]
}

/** The forms of a keyword that is the text in any case. */
export function keywordForms({ field, term }: KeywordTerm): readonly WholeForm[] {
  return anyCaseMatchers(term).map((matcher) => ({ kind: 'keyword', field, matcher }))
}

/** The words of the text as a document with only this text would have them, parts of words included. */
function wordForm(field: IndexedField, text: string, context: QueryContext) {
  const tokens = context.documentAnalyzer(field).analyze(text)
  const [first] = tokens
  if (first === undefined) return undefined
  const positions = tokens.map(({ term, position }) => {
    return { offset: position - first.position, terms: [term] }
  })
  return { kind: 'words', positions, length: byteOfLength(tokens.length) } as const
}
