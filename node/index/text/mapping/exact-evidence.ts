// What exact matches of a typed text add to the score of what it finds: those of its words, of all of them in a row,
// and of a whole value. Each counts in its best field.
//
// Without fields of the query, a word is as rare as it is in all text, in whichever field it is found. Otherwise a word
// would count most where it hardly occurs, such as in lists of what others are called.
//
// Invariants:
//   EV1  Where weights follow from the fields themselves, a document whose name is the whole text comes before each whose
//        name is not. A match scores at most 2.2 (k1 + 1) times its weight and the rarity of its words, and no weight is
//        above that of whole names. So words, row and all text together stay below WHOLE times that weight.

import { fieldsOfEvidence, type EvidenceField, type EvidenceRole } from './evidence-fields.ts'
import { anyOf, phraseOf } from './synonym-queries.ts'
import { keywordForms, keywordOf, wordForms, type KeywordTerm } from './whole-value.ts'
import type { OffsetToken } from '../analysis/analyzer.ts'
import type { EngineQuery, TermsInField } from '../engine-query.ts'
import type { IndexedField } from './field-registry.ts'
import type { QueryContext } from './query-context.ts'

/** A text of more words was pasted: its first words say what it is about, and it is not a name. */
const WORDS_MAX = 64
/** The weight of all words in a row, in boosts of the field. */
const ROW = 2
/** The weight of a whole value, in boosts of the field. */
const WHOLE = 8
/** The weight of a whole value in a field without keywords, which would tell how many documents have the value. */
const SHARED_WHOLE = 0.2 * WHOLE
/** The weight of a value that is the same letter by letter, which tells Go from GO. */
const SAME_LETTERS = 0.1
/** The fields of names in which typos and unfinished words count, too. */
const NEAR_FIELDS_MAX = 2
/** The most words of a text that may be a name with a typo. */
const NEAR_WORDS_MAX = 8

export type Expansion = Extract<EngineQuery, { readonly kind: 'expand' }>

/** A typed text, and how it was looked for. */
export interface Typed {
  /** Without what it excludes. */
  readonly text: string
  /** The field of all text; undefined if the query names its fields. */
  readonly allText: IndexedField | undefined
  /** By a term of `allText`, how it was looked for with typos and unfinished. */
  readonly near: ReadonlyMap<string, readonly Expansion[]>
  readonly context: QueryContext
}

/** What exact matches of the text add. `fields`: where they count; by default in the fields of all text. */
export function evidenceOf(
  typed: Typed,
  fields: readonly EvidenceField[] = fieldsOfEvidence(typed.context),
): readonly EngineQuery[] {
  const evidence = new Evidence(typed)
  for (const field of fields) evidence.addField(field)
  evidence.addNear(fields)
  return evidence.queries()
}

class Evidence {
  readonly #typed: Typed
  /** By analyzer, because most fields have the same. */
  readonly #tokens = new Map<string, readonly OffsetToken[]>()
  /** By its place in the text, a word as all text has it. */
  readonly #inAll = new Map<number, TermsInField>()
  /** By the word as all text has it, its matches. */
  readonly #words = new Map<string, EngineQuery[]>()
  readonly #rows: EngineQuery[] = []
  readonly #wholes: EngineQuery[] = []
  readonly #sames: EngineQuery[] = []

  constructor(typed: Typed) {
    this.#typed = typed
    const { allText } = typed
    if (allText === undefined) return
    for (const { term, start } of this.#tokensIn(allText)) {
      this.#inAll.set(start, { field: allText.indexField, terms: [term] })
    }
  }

  queries(): readonly EngineQuery[] {
    const all = [...this.#words.values(), this.#rows, this.#wholes, this.#sames]
    return all.map(anyOf).filter(({ kind }) => kind !== 'none')
  }

  addField(one: EvidenceField): void {
    const { field, boost, role } = one
    const tokens = this.#tokensIn(field)
    this.#addWords(one, tokens)
    if (tokens.length <= WORDS_MAX) this.#addWhole(one, tokens)
    const [first, ...others] = tokens
    if (first === undefined || others.length === 0 || tokens.length > WORDS_MAX) return
    const positions = tokens.map(({ term, position }) => {
      return { offset: position - first.position, terms: [term] }
    })
    const alike = tokens.map((token) => this.#rarityOf(field, token))
    const row = { field: field.indexField, positions, slop: 0, alike }
    this.#rows.push(phraseOf({ ...row, boost: boost * ROW, ...this.#shapeOf(role) }))
  }

  /**
   * In fields of names the closest terms count as those that were typed do, so that a name comes first before its last letter is
   * typed, and in spite of a typo. Elsewhere all text decides, because each term is looked up in each field.
   */
  addNear(fields: readonly EvidenceField[]): void {
    const { allText, near } = this.#typed
    if (near.size > NEAR_WORDS_MAX) return
    const named = fields.filter(({ field, role }) => {
      return role === 'name' && field.kind === 'text' && field.analyzer === allText?.analyzer
    })
    for (const { field, boost } of named.slice(0, NEAR_FIELDS_MAX)) {
      for (const [term, expansions] of near) {
        const each = {
          scoredIn: field.indexField,
          isShaped: true,
          boost: shareOf(boost, near.size),
        }
        for (const expansion of expansions) this.#addWord(term, { ...expansion, ...each })
      }
    }
  }

  #addWords({ field, boost, role }: EvidenceField, tokens: readonly OffsetToken[]): void {
    const { indexField } = field
    const seen = new Set<string>()
    const each = role === 'chosen' ? boost : shareOf(boost, tokens.length)
    for (const token of tokens.slice(0, WORDS_MAX)) {
      const { term, start } = token
      if (seen.has(term)) continue
      seen.add(term)
      const alike = this.#rarityOf(field, token)
      const match = { term, field: indexField, boost: each, alike, ...this.#shapeOf(role) }
      this.#addWord(this.#inAll.get(start)?.terms[0] ?? term, { kind: 'term', ...match })
    }
  }

  #addWord(name: string, match: EngineQuery): void {
    this.#words.set(name, [...(this.#words.get(name) ?? []), match])
  }

  #addWhole({ field, role, wholeBoost }: EvidenceField, tokens: readonly OffsetToken[]): void {
    const { text, context } = this.#typed
    const keyword = keywordOf(field, text, context)
    const words = tokens.length === 0 ? [] : wordForms(field, text, context)
    const isPlain = role === 'plain'
    if (keyword !== undefined && (!isPlain || words.length === 0)) {
      this.#addSame(keyword, wholeBoost, words.length === 0)
    }
    if (words.length === 0) return
    const keywords = isPlain || keyword === undefined ? [] : keywordForms(keyword)
    const weight = isPlain && keyword === undefined ? SHARED_WHOLE : WHOLE
    this.#wholes.push({
      kind: 'whole',
      field: field.indexField,
      forms: [...words, ...keywords],
      boost: wholeBoost * weight,
      alike: tokens.map((token) => this.#rarityOf(field, token)),
      value: isPlain ? keyword : undefined,
      ...this.#shapeOf(isPlain ? role : 'chosen'),
    })
  }

  /** Where nobody chose weights, the field of all text is known. */
  #shapeOf(role: EvidenceRole): { readonly shapedIn?: string } {
    const { allText } = this.#typed
    return role === 'chosen' || allText === undefined ? {} : { shapedIn: allText.indexField }
  }

  /** Without words, as of stop words alone, only the letters can be equal. */
  #addSame(keyword: KeywordTerm, wholeBoost: number, isAlone: boolean): void {
    const boost = wholeBoost * (isAlone ? WHOLE : SAME_LETTERS)
    this.#sames.push({ kind: 'term', ...keyword, boost })
  }

  #rarityOf({ indexField }: IndexedField, { term, start }: OffsetToken): TermsInField {
    return this.#inAll.get(start) ?? { field: indexField, terms: [term] }
  }

  #tokensIn(field: IndexedField): readonly OffsetToken[] {
    if (field.kind !== 'text') return []
    const { context, text } = this.#typed
    const analyzer = context.analyzer(field, undefined)
    const known = this.#tokens.get(analyzer.name)
    if (known !== undefined) return known
    const tokens = analyzer.analyzeWithOffsets(text)
    context.takeTerms(field, tokens.length)
    this.#tokens.set(analyzer.name, tokens)
    return tokens
  }
}

/** What one of several words counts in a field with more than the usual weight: a name that has one of three words is not meant. */
function shareOf(boost: number, count: number): number {
  return boost <= 1 ? boost : 1 + (boost - 1) / Math.max(1, count)
}
