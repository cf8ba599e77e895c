// Resolves text that a person typed. All text decides which documents match, with typos and with
// the last word as a prefix. Exact matches in a field add to the score, by the field's weight.

import { CANONICAL } from '../analysis/fold-term.ts'
import { chosenField } from './evidence-fields.ts'
import { evidenceOf, type Expansion } from './exact-evidence.ts'
import { NOTHING, refusal } from './query-context.ts'
import { combine, compoundTerms, fuzzyTerm, hasTerms } from './resolve-text.ts'
import { anyOf, phraseOf, phraseWordings, wordingQuery } from './synonym-queries.ts'
import { prefixMatcher, prefixRanking } from './term-matchers.ts'
import { readSimpleText } from '../../../query/simple-text.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { IndexableToken } from '../indexable-document.ts'
import type { IndexedField } from './field-registry.ts'
import type { QueryOf } from '../../../query/query-tree.ts'
import type { QueryContext } from './query-context.ts'

/**
 * The limit of words with typos, counted in each field. A longer text was pasted and is searched as
 * it is.
 */
const TYPOS_MAX = 64
/** The score of a word's parts, as a share of that of the whole word. */
const PARTS_SHARE = 0.25
/** A prefix of one letter matches too much. */
const PREFIX_LENGTH_MIN = 2
/** Particles follow a Korean noun without a space, so a word of the text may be longer (0099). */
const HANGUL = /^[\uac00-\ud7a3]+$/
/**
 * What a text found among all text counts, beside exact matches in fields. Where no field matches, it alone decides: after
 * a typo.
 */
const ALL_TEXT_SHARE = 0.25

interface SearchedField {
  readonly field: IndexedField
  readonly boost: number
}

export function resolveSimple(query: QueryOf<'simple'>, context: QueryContext): EngineQuery {
  if (query.text.trim() === '') return { kind: 'all', boost: query.boost }
  const searched =
    query.fields === undefined ? allText(context) : namedFields(query.fields, context)
  if (searched.length === 0) return NOTHING
  const { words, phrases, unwanted, wanted, isOpen } = readSimpleText(query.text)
  const search = new SimpleSearch(searched, context)
  const groups = search.groupsOf(words)
  const found = groups.map((group, index) => {
    return search.group(group, isOpen && index === groups.length - 1)
  })
  const { required, hoped } = isOpen
    ? search.decided(found, words.at(-1))
    : { required: found, hoped: [] }
  const must = [mostOf(required.filter(isSomething)), ...phrases.map((one) => search.phrase(one))]
  const isNamed = query.fields !== undefined
  // The words of a phrase are wanted, and marked, where the phrase is and nowhere else.
  const text = phrases.length === 0 ? wanted : words.join(' ')
  const typed = { text, near: search.near, context }
  const bonuses = isNamed
    ? evidenceOf({ ...typed, allText: undefined }, searched.map(asChosen))
    : evidenceOf({ ...typed, allText: searched[0]?.field })
  const needed = must.filter(isSomething)
  if (needed.length === 0) {
    context.warn(`"${query.text.slice(0, 100)}" contains only stop words and signs`)
  }
  return {
    kind: 'boolean',
    must: isNamed ? needed : [scaled(needed, ALL_TEXT_SHARE)].filter(isSomething),
    should: [...hoped, ...bonuses],
    minShould: needed.length === 0 ? 1 : 0,
    mustNot: unwanted.map((one) => search.phrase(one)).filter(isSomething),
    filter: [],
    boost: query.boost,
  }
}

function asChosen({ field, boost }: SearchedField) {
  return chosenField(field, boost)
}

function allText(context: QueryContext): readonly SearchedField[] {
  const field = context.field(undefined)
  return field === undefined ? [] : [{ field, boost: 1 }]
}

function namedFields(
  fields: NonNullable<QueryOf<'simple'>['fields']>,
  context: QueryContext,
): readonly SearchedField[] {
  return fields.flatMap(({ name, boost }) => {
    const field = context.field(name)
    if (field === undefined) return []
    if (!hasTerms(field)) throw refusal(name, `is of type ${field.kind} and has no words`)
    return [{ field, boost: boost * context.mapping.boostOf(name) }]
  })
}

function scaled(must: readonly EngineQuery[], boost: number): EngineQuery {
  if (must.length === 0) return NOTHING
  return { kind: 'boolean', must, should: [], minShould: 0, mustNot: [], filter: [], boost }
}

/** Requires both words of two, and three in four of more. */
function mostOf(words: readonly EngineQuery[]): EngineQuery {
  const [only] = words
  if (only === undefined || words.length === 1) return only ?? NOTHING
  const minShould = words.length === 2 ? 2 : Math.floor(words.length * 0.75)
  return {
    kind: 'boolean',
    must: [],
    should: words,
    minShould,
    mustNot: [],
    filter: [],
    boost: 1,
  }
}

class SimpleSearch {
  readonly #fields: readonly SearchedField[]
  readonly #context: QueryContext
  #typosLeft = TYPOS_MAX
  /** By term, the expansions by which it was looked for. */
  readonly near = new Map<string, readonly Expansion[]>()

  constructor(fields: readonly SearchedField[], context: QueryContext) {
    this.#fields = fields
    this.#context = context
  }

  /** Each word by itself, and words together that have synonyms together. */
  groupsOf(words: readonly string[]): readonly (readonly string[])[] {
    const [first] = this.#fields
    if (first === undefined || !this.#context.hasSynonyms) return words.map((word) => [word])
    const numbered = words.flatMap((word, index) => {
      return tokensIn(first.field, word, this.#context).map(({ term }) => ({ term, index }))
    })
    const tokens = numbered.map(({ term }, position) => ({ term, position }))
    const groups: string[][] = []
    let next = 0
    const spans = this.#context.spans(first.field, tokens)
    for (const span of spans) {
      const at = span.tokens.map(({ position }) => numbered[position]?.index ?? 0)
      const end = Math.max(...at) + 1
      // Words of which nothing is left stand by themselves.
      for (; next < Math.min(...at); next += 1) groups.push(words.slice(next, next + 1))
      if (end > next) groups.push(words.slice(next, end))
      next = Math.max(next, end)
    }
    return [...groups, ...words.slice(next).map((word) => [word])]
  }

  /**
   * What has to be there, of a text whose last word may still grow. Hits that the words before it have must not
   * come and go while it is typed: one letter finds little, and what begins a stop word may be one.
   */
  decided(
    found: readonly EngineQuery[],
    last: string | undefined,
  ): { readonly required: readonly EngineQuery[]; readonly hoped: readonly EngineQuery[] } {
    const before = found.slice(0, -1).filter(isSomething)
    const isUndecided = last !== undefined && this.#fields.some((one) => this.#mayVanish(one, last))
    if (!isUndecided || before.length === 0) return { required: found, hoped: [] }
    return { required: before, hoped: found.slice(-1).filter(isSomething) }
  }

  #mayVanish({ field }: SearchedField, word: string): boolean {
    if (field.kind !== 'text') return false
    const analyzer = this.#context.analyzer(field, undefined)
    const begun = analyzer.normalize(word)
    return begun.length < PREFIX_LENGTH_MIN || analyzer.beginsStopWord(begun)
  }

  /** Words that have to be there together, or another way to say them. */
  group(words: readonly string[], mayContinue: boolean): EngineQuery {
    const own = words.map((word, index) =>
      this.#word(word, mayContinue && index === words.length - 1),
    )
    const synonyms = this.#context.hasSynonyms ? this.#synonymsOf(words.join(' ')) : []
    return anyOf([combine(own.filter(isSomething), 'and'), ...synonyms])
  }

  /** The synonyms of the whole text in each field. */
  #synonymsOf(text: string): readonly EngineQuery[] {
    return this.#fields.flatMap((one) => {
      const [span, ...others] = this.#context.spans(
        one.field,
        tokensIn(one.field, text, this.#context),
      )
      const alternatives = others.length === 0 ? (span?.alternatives ?? []) : []
      return alternatives.map((wording) => wordingQuery(wording, one))
    })
  }

  /** Resolves the text between two spaces. An analyzer may find several words in it. */
  #word(text: string, mayContinue: boolean): EngineQuery {
    return anyOf(
      this.#fields.map(({ field, boost }) => {
        const terms = tokensIn(field, text, this.#context).map(({ term }) => term)
        const stop =
          terms.length === 0 && mayContinue ? this.#begunStopWord(field, text) : undefined
        if (stop !== undefined) return prefixIn({ field, boost }, stop)
        const parts = terms.map((term, index) => {
          return this.#term({ field, boost }, term, mayContinue && index === terms.length - 1)
        })
        return anyOf([combine(parts, 'and'), ...this.#partsOf({ field, boost }, text)])
      }),
    )
  }

  /** A word that is put together is also found where its parts are, behind the whole. */
  #partsOf({ field, boost }: SearchedField, text: string): readonly EngineQuery[] {
    const parts = compoundTerms(field, text, this.#context).map((term) => {
      return this.#term({ field, boost: boost * PARTS_SHARE }, term, false)
    })
    return parts.length === 0 ? [] : [combine(parts, 'and')]
  }

  /** A stop word that may become another word. */
  #begunStopWord(field: IndexedField, text: string): string | undefined {
    if (field.kind !== 'text') return undefined
    const analyzer = this.#context.analyzer(field, undefined)
    const begun = analyzer.normalize(text)
    const isWord = begun.length >= PREFIX_LENGTH_MIN && analyzer.beginsStopWord(begun)
    return isWord ? begun : undefined
  }

  phrase(text: string): EngineQuery {
    return anyOf(
      this.#fields.map(({ field, boost }) => {
        const spans = this.#context.spans(field, tokensIn(field, text, this.#context))
        const { wordings } = phraseWordings(spans, (term) => ({ terms: [term] }))
        return anyOf(
          wordings.map((positions) => {
            return phraseOf({ field: field.indexField, positions, slop: 0, boost })
          }),
        )
      }),
    )
  }

  #term({ field, boost }: SearchedField, term: string, mayContinue: boolean): EngineQuery {
    this.#typosLeft -= 1
    const fuzziness = this.#typosLeft >= 0 ? 'auto' : 0
    const spelt = fuzzyTerm({ field: field.indexField, term, fuzziness, prefixLength: 1 }, boost)
    const isBegun = mayContinue && term.length >= PREFIX_LENGTH_MIN
    const begun = isBegun || HANGUL.test(term) ? [prefixIn({ field, boost }, term)] : []
    const parts = [spelt, ...begun]
    const expansions = parts.filter((part) => part.kind === 'expand')
    if (expansions.length > 0) this.near.set(term, expansions)
    return anyOf(parts)
  }
}

function prefixIn({ field, boost }: SearchedField, begun: string): EngineQuery {
  return {
    kind: 'expand',
    field: field.indexField,
    matcher: prefixMatcher(begun),
    boost,
    ranking: prefixRanking(begun),
  }
}

/**
 * The tokens of the text in a field. A keyword field has no words, so the whole value is one token.
 */
function tokensIn(
  field: IndexedField,
  text: string,
  context: QueryContext,
): readonly IndexableToken[] {
  if (field.kind === 'keyword') return [{ term: CANONICAL.term(text), position: 0 }]
  if (field.kind !== 'text') return []
  const tokens = context.analyzer(field, undefined).analyze(text)
  context.takeTerms(field, tokens.length)
  return tokens
}

function isSomething({ kind }: EngineQuery): boolean {
  return kind !== 'none'
}
