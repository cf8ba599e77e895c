// What the engine is asked where words of a query have synonyms: one way to say it is enough, and the
// best one scores. A synonym counts a little less than what was written.

import { NOTHING } from './query-context.ts'
import type { EngineQuery, Expansion, PhrasePosition } from '../engine-query.ts'
import type { IndexedField } from './field-registry.ts'
import type { TokenSpan, Wording } from './synonyms.ts'

/** What a synonym counts beside the words that were written. */
const SYNONYM_SHARE = 0.8
/** Ways to say one phrase. */
const WORDINGS_MAX = 16

/** A field that a query searches, and what a find in it counts. */
export interface BoostedField {
  readonly field: IndexedField
  readonly boost: number
}

/** What one position of a phrase may hold. */
export interface PhraseTerms {
  readonly terms: readonly string[]
  readonly more?: Expansion
}

type Phrase = Extract<EngineQuery, { readonly kind: 'phrase' }>

/** `own` is the query for the span's own words. */
export function withSynonyms(own: EngineQuery, span: TokenSpan, where: BoostedField): EngineQuery {
  return anyOf([own, ...span.alternatives.map((one) => wordingQuery(one, where))])
}

/** One synonym, with all of its words in a row. */
export function wordingQuery(wording: Wording, { field, boost }: BoostedField): EngineQuery {
  const positions = wording.map(({ term, position }) => ({ offset: position, terms: [term] }))
  return phraseOf({ field: field.indexField, positions, slop: 0, boost: boost * SYNONYM_SHARE })
}

/** The best of them scores. */
export function anyOf(parts: readonly EngineQuery[]): EngineQuery {
  const useful = parts.filter(({ kind }) => kind !== 'none')
  const [only] = useful
  if (only === undefined || useful.length === 1) return only ?? NOTHING
  return { kind: 'best', parts: useful, boost: 1 }
}

/** A phrase of one term is that term, and one of no term finds nothing. */
export function phraseOf(phrase: Omit<Phrase, 'kind'>): EngineQuery {
  const [first] = phrase.positions
  if (first === undefined) return NOTHING
  const [term] = first.terms
  const isTerm = phrase.positions.length === 1 && first.terms.length === 1
  if (isTerm && first.more === undefined && term !== undefined) {
    return { kind: 'term', field: phrase.field, term, boost: phrase.boost }
  }
  return { kind: 'phrase', ...phrase }
}

/** The ways to say a phrase, as positions for the engine. */
export interface PhraseWordings {
  readonly wordings: readonly (readonly PhrasePosition[])[]
  /** Whether some ways to say the phrase were left out. */
  readonly isCut: boolean
}

/**
 * The ways to say a phrase, the one that was written first. Where all synonyms have one word, they
 * share its position. `own` is what a position of the written words may hold.
 */
export function phraseWordings(
  spans: readonly TokenSpan[],
  own: (term: string) => PhraseTerms,
): PhraseWordings {
  let wordings: readonly OpenWording[] = [{ positions: [], end: 0 }]
  let isCut = false
  let writtenEnd = spans[0]?.tokens[0]?.position ?? 0
  for (const span of spans) {
    const gap = (span.tokens[0]?.position ?? 0) - writtenEnd
    writtenEnd = (span.tokens.at(-1)?.position ?? 0) + 1
    const parts = partsOf(span, own)
    const longer = wordings.flatMap((wording) => parts.map((part) => appended(wording, gap, part)))
    isCut ||= longer.length > WORDINGS_MAX
    wordings = longer.slice(0, WORDINGS_MAX)
  }
  return { wordings: wordings.map(({ positions }) => positions), isCut }
}

interface OpenWording {
  readonly positions: readonly PhrasePosition[]
  /** The position behind the last one. */
  readonly end: number
}

/** One way to say a span, the first position at 0. */
type SpanWording = readonly PhrasePosition[]

function partsOf(
  { tokens, alternatives }: TokenSpan,
  own: (term: string) => PhraseTerms,
): readonly SpanWording[] {
  const start = tokens[0]?.position ?? 0
  const written = tokens.map(({ term, position }) => ({ offset: position - start, ...own(term) }))
  const single = alternatives.filter(({ length }) => length === 1)
  const [first] = written
  const others = single.flatMap((wording) => wording.map(({ term }) => term))
  const isShared = written.length === 1 && first !== undefined
  const shared = isShared ? [{ ...first, terms: [...first.terms, ...others] }] : written
  const apart = isShared ? alternatives.filter(({ length }) => length > 1) : alternatives
  return [
    shared,
    ...apart.map((wording) => {
      return wording.map(({ term, position }) => ({ offset: position, terms: [term] }))
    }),
  ]
}

function appended({ positions, end }: OpenWording, gap: number, part: SpanWording): OpenWording {
  const start = end + gap
  const moved = part.map((position) => ({ ...position, offset: start + position.offset }))
  return { positions: [...positions, ...moved], end: start + (part.at(-1)?.offset ?? 0) + 1 }
}
