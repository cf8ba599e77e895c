// The words of an index that are closest to a word that was typed.
//
// A stemmed field has stems: "compter" and "comput". Nobody types those, so that the stem gets the
// endings of the typed word, and the spelling closest to the typed word is the one that is shown:
// "computer".
//
// Invariants:
//   CW1  The field's analyzer makes exactly the term of the word that is shown, so that a query
//        with this word finds the documents that have the term.

import type { Sliced } from '../../../../lib/sliced.ts'
import { distanceOf, editDistanceTest } from '../../../query/edit-distance.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import { fuzzyMatcher } from '../mapping/term-matchers.ts'
import { TermWalk } from '../matching/term-walk.ts'
import type { Poll } from '../poll.ts'
import type { FieldWord } from './typed-words.ts'

/** The limit of close words of one word in one field of a shard. */
export const CLOSE_WORDS_MAX = 16
/** The terms within the distance that one walk looks at. */
const MATCHING_TERMS_MAX = 16_384
/** The most terms that get a spelling: the closest of those within the distance. */
const SPELT_TERMS_MAX = 64
/** How many terms are sorted in one step, and what sorting one costs, in postings read. */
const SORTED_AT_ONCE = 512
const SORTING_COST = 64
/** The longest ending that a stem gets. */
const ENDING_LENGTH_MAX = 6
/** The cost of analyzing one spelling, in postings read. */
const SPELLING_COST = 128

/** A word that may be meant, as one shard knows it. */
export interface CloseWord {
  readonly term: string
  /** The word as a person types it. */
  readonly word: string
  /** From the typed word to this one, in edits. */
  readonly distance: number
  /** The documents of this shard, with some that were deleted. */
  readonly docFreq: number
}

interface CloseTerm {
  readonly term: string
  readonly distance: number
  readonly docFreq: number
}

/** What was typed, and the term that it is in a field. */
export interface Misspelling {
  readonly typed: string
  readonly inField: FieldWord
}

/** The closest words, the best first. */
export function* closeWords(
  segments: readonly LiveSegment[],
  { typed, inField }: Misspelling,
  poll: Poll,
): Sliced<readonly CloseWord[]> {
  const written = inField.analyzer.normalize(typed)
  const distance = distanceOf(written, 'auto')
  if (distance === 0) return []
  const terms = yield* closeTerms(segments, { inField, distance }, poll)
  const test = editDistanceTest(written, { distance, prefixLength: 0 })
  const words: CloseWord[] = []
  const nearest = yield* closestOf(terms, inField.term, poll)
  for (const one of nearest) {
    const spelt = spellingOf(one.term, { written, inField, distanceTo: test.distanceTo })
    if (spelt !== undefined) words.push({ ...one, ...spelt })
    if (poll.spend(SPELLING_COST * ENDING_LENGTH_MAX)) yield poll.renewed()
  }
  return closest(words, written, ({ word }) => word).slice(0, CLOSE_WORDS_MAX)
}

type Close = Pick<CloseTerm, 'distance' | 'docFreq'>

/** Orders by distance, by whether the first letters are equal, by frequency. */
export function closest<One extends Close>(
  all: readonly One[],
  written: string,
  textOf: (close: One) => string,
): readonly One[] {
  return all.toSorted(byCloseness(written, textOf))
}

function byCloseness<One extends Close>(written: string, textOf: (close: One) => string) {
  const [first = ''] = written
  const isOther = (close: One): number => (textOf(close).startsWith(first) ? 0 : 1)
  return (left: One, right: One): number =>
    left.distance - right.distance ||
    isOther(left) - isOther(right) ||
    right.docFreq - left.docFreq ||
    compareTexts(textOf(left), textOf(right))
}

/** The first SPELT_TERMS_MAX of them in order. To sort all of them would take ten milliseconds in one step. */
function* closestOf(
  terms: readonly CloseTerm[],
  written: string,
  poll: Poll,
): Sliced<readonly CloseTerm[]> {
  const compare = byCloseness(written, ({ term }: CloseTerm) => term)
  let nearest: CloseTerm[] = []
  for (let from = 0; from < terms.length; from += SORTED_AT_ONCE) {
    nearest = [...nearest, ...terms.slice(from, from + SORTED_AT_ONCE)].toSorted(compare)
    nearest = nearest.slice(0, SPELT_TERMS_MAX)
    if (poll.spend(SORTED_AT_ONCE * SORTING_COST)) yield poll.renewed()
  }
  return nearest
}

function* closeTerms(
  segments: readonly LiveSegment[],
  { inField, distance }: { readonly inField: FieldWord; readonly distance: number },
  poll: Poll,
): Sliced<readonly CloseTerm[]> {
  const { field: name, term: typed } = inField
  const test = editDistanceTest(typed, { distance, prefixLength: 0 })
  const found = new Map<string, CloseTerm>()
  for (const { segment } of segments) {
    const field = segment.field(name)
    if (field === undefined) continue
    yield* field.prepareTerms()
    const walk = new TermWalk(field, fuzzyMatcher(typed, { distance, prefixLength: 0 }), poll)
    for (let entry = walk.next(); entry !== 'end'; entry = walk.next()) {
      if (entry === 'pause') {
        yield poll.renewed()
        continue
      }
      const { text: term, docFreq } = entry
      if (term === typed) continue
      const known = found.get(term)
      if (known === undefined && found.size >= MATCHING_TERMS_MAX) break
      const sum = docFreq + (known?.docFreq ?? 0)
      found.set(term, { term, distance: known?.distance ?? test.distanceTo(term), docFreq: sum })
    }
  }
  return [...found.values()]
}

interface Spelling {
  readonly written: string
  readonly inField: FieldWord
  readonly distanceTo: (word: string) => number
}

/** Undefined if no word within the distance becomes this term (CW1). */
function spellingOf(
  term: string,
  { written, inField, distanceTo }: Spelling,
): Pick<CloseWord, 'word' | 'distance'> | undefined {
  let best: Pick<CloseWord, 'word' | 'distance'> | undefined
  for (let length = 0; length <= Math.min(ENDING_LENGTH_MAX, written.length - 1); length += 1) {
    const word = term + written.slice(written.length - length)
    const distance = distanceTo(word)
    if (distance === 0 || distance >= (best?.distance ?? Infinity)) continue
    const [only, ...others] = inField.analyzer.analyze(word)
    if (only?.term === term && others.length === 0) best = { word, distance }
  }
  return best
}
