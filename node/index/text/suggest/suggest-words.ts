// Tells for one shard which words of a query may be mistyped, and which words are close to them. The
// coordinator counts these words over all shards and chooses (search/suggestions/suggestions.ts).

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { TextIndex } from '../engine/text-index.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { prefixMatcher } from '../mapping/term-matchers.ts'
import { TermWalk } from '../matching/term-walk.ts'
import { Poll } from '../poll.ts'
import { closeWords, type CloseWord } from './close-words.ts'
import { typedWords, type FieldWord, type TypedWord } from './typed-words.ts'

/** The limit of words whose close words are looked for; each field is a walk over its terms. */
const WALKED_WORDS_MAX = 8
/** A word that three documents have counts as correct. */
const DECENT_DOCS_MIN = 3
/** In a large index, slips of the pen are in several documents too. */
const DECENT_SHARE = 1 / 10_000
/** The cost of looking up a term in a segment, in postings read. */
const LOOKUP_COST = 256

/** Asks one shard for words close to those of a query. */
export interface SuggestRequest {
  readonly query: Query
}

/** A typed word in one field of a shard. */
export interface WordInField {
  /** The text of the clause. */
  readonly text: string
  /** The place of the word in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
  readonly field: string
  readonly term: string
  /** Whether a word of this shard begins so, and the query looks for beginnings. */
  readonly isBegun: boolean
  /** The closest words of this shard; none for a word that this shard knows well. */
  readonly close: readonly CloseWord[]
}

/** An index, and the mapping that its documents were indexed with. */
interface SuggestingIndex {
  readonly index: TextIndex
  readonly mapping: FieldMapping
}

/** Whether a word that `docFreq` of `docCount` documents have counts as correct, so that no other is suggested. */
export function isDecent(docFreq: number, docCount: number): boolean {
  return docFreq >= Math.max(DECENT_DOCS_MIN, docCount * DECENT_SHARE)
}

export function* suggestWords(
  { index, mapping }: SuggestingIndex,
  { query }: SuggestRequest,
): Sliced<readonly WordInField[]> {
  const snapshot = index.snapshot()
  try {
    const search = new WordSearch(snapshot.segments)
    const words = yield* typedWords(query, mapping)
    const found: WordInField[] = []
    for (const word of words) found.push(...(yield* search.word(word)))
    return found
  } finally {
    snapshot.release()
  }
}

class WordSearch {
  readonly #segments: readonly LiveSegment[]
  readonly #poll = new Poll()
  #walksLeft = WALKED_WORDS_MAX

  constructor(segments: readonly LiveSegment[]) {
    this.#segments = segments
  }

  *word(word: TypedWord): Sliced<readonly WordInField[]> {
    const { text, start, end } = word
    const isBegun = word.mayContinue && (yield* this.#isBegun(word))
    const isLookedFor = !isBegun && !(yield* this.#isKnown(word)) && this.#walksLeft > 0
    if (isLookedFor) this.#walksLeft -= 1
    const found: WordInField[] = []
    for (const inField of word.inFields) {
      const misspelling = { typed: text.slice(start, end), inField }
      const close = isLookedFor ? yield* closeWords(this.#segments, misspelling, this.#poll) : []
      const { field, term } = inField
      found.push({ text, start, end, field, term, isBegun, close })
    }
    return found
  }

  /** One field is enough. */
  *#isKnown({ inFields }: TypedWord): Sliced<boolean> {
    for (const { field, term } of inFields) {
      let docFreq = 0
      let docCount = 0
      for (const live of this.#segments) {
        docFreq += live.term(field, term)?.liveDocFreq ?? 0
        docCount += live.fieldStatistics(field).docCount
        if (this.#poll.spend(LOOKUP_COST)) yield this.#poll.renewed()
      }
      if (isDecent(docFreq, docCount)) return true
    }
    return false
  }

  *#isBegun({ inFields }: TypedWord): Sliced<boolean> {
    for (const inField of inFields) {
      for (const live of this.#segments) {
        if (yield* this.#hasBeginning(live, inField)) return true
      }
    }
    return false
  }

  /** A term that only deleted documents have does not count. */
  *#hasBeginning(live: LiveSegment, { field: name, term }: FieldWord): Sliced<boolean> {
    const field = live.segment.field(name)
    if (field === undefined) return false
    yield* field.prepareTerms()
    const walk = new TermWalk(field, prefixMatcher(term), this.#poll)
    for (let entry = walk.next(); entry !== 'end'; entry = walk.next()) {
      if (entry === 'pause') {
        yield this.#poll.renewed()
        continue
      }
      if (live.log.length === 0) return true
      this.#poll.spend(LOOKUP_COST)
      if ((live.term(name, entry.text)?.liveDocFreq ?? 0) > 0) return true
    }
    return false
  }
}
