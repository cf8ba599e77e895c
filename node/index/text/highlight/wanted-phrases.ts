// The phrases of a query in one field, and the words of a document that are part of one.
//
// A word of a phrase is marked where the phrase is: with all places of the phrase around it, as far
// apart as the slop allows. These are the occurrences that the search counts for the score.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQuery, PhrasePosition, TermMatcher } from '../engine-query.ts'
import { sloppyFrequency } from '../matching/phrase-frequency.ts'
import type { Poll } from '../poll.ts'
import { testTerm } from './test-term.ts'

/** The limit of remembered terms in a field. Beyond it they are forgotten. */
const REMEMBERED_MAX = 50_000

/** What may stand at a place of a phrase. Places with the same terms are one. */
interface PhrasePlace {
  readonly matcher: TermMatcher | undefined
}

interface WantedPhrase {
  readonly places: readonly { readonly offset: number; readonly place: PhrasePlace }[]
  readonly slop: number
}

/** A word of a document that may be part of a phrase. */
export interface PhraseWord {
  /** Marks the word. Several calls are as one. */
  mark(): void
}

/** The phrases of a query in one field. It tells for a term where in a phrase it may stand. */
export class WantedPhrases {
  readonly phrases: WantedPhrase[] = []
  readonly #places = new Map<string, PhrasePlace>()
  readonly #byTerm = new Map<string, PhrasePlace[]>()
  #known = new Map<string, readonly PhrasePlace[]>()

  add({ positions, slop }: Extract<EngineQuery, { kind: 'phrase' }>): void {
    const places = positions.map((position) => {
      return { offset: position.offset, place: this.#placeOf(position) }
    })
    this.phrases.push({ places, slop })
  }

  #placeOf({ terms, more }: PhrasePosition): PhrasePlace {
    // Expansions of one kind, which the limit tells apart, select the same if they are shown alike.
    const name = JSON.stringify([terms, more?.shown, more?.termsMax])
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place: PhrasePlace = { matcher: more?.matcher }
    this.#places.set(name, place)
    for (const term of new Set(terms)) {
      this.#byTerm.set(term, [...(this.#byTerm.get(term) ?? []), place])
    }
    return place
  }

  /** The places where the term may stand. Each distinct term is tested once. */
  *placesOf(term: string, poll: Poll): Sliced<readonly PhrasePlace[]> {
    const known = this.#known.get(term)
    if (known !== undefined) return known
    const places = new Set(this.#byTerm.get(term))
    for (const place of this.#places.values()) {
      if (place.matcher === undefined || places.has(place)) continue
      if (yield* testTerm(place.matcher, term, poll)) places.add(place)
    }
    if (this.#known.size >= REMEMBERED_MAX) this.#known = new Map()
    this.#known.set(term, [...places])
    return [...places]
  }
}

/** The words of one place, by their positions in the document, which ascend. */
class FoundWords {
  readonly byPosition = new Map<number, PhraseWord[]>()

  add(position: number, word: PhraseWord): void {
    const others = this.byPosition.get(position)
    if (others === undefined) this.byPosition.set(position, [word])
    else others.push(word)
  }

  markAt(position: number): void {
    for (const word of this.byPosition.get(position) ?? []) word.mark()
  }
}

const NO_WORDS = new FoundWords()

interface FoundPlace {
  readonly offset: number
  readonly words: FoundWords
}

/** Finds the phrases in the field of one document, whose words it takes in their order. */
export class PhraseMarker {
  readonly #wanted: WantedPhrases
  readonly #poll: Poll
  readonly #found = new Map<PhrasePlace, FoundWords>()

  constructor(wanted: WantedPhrases, poll: Poll) {
    this.#wanted = wanted
    this.#poll = poll
  }

  *take(term: string, position: number, word: PhraseWord): Sliced<void> {
    if (this.#wanted.phrases.length === 0) return
    for (const place of yield* this.#wanted.placesOf(term, this.#poll)) {
      const words = this.#found.get(place) ?? new FoundWords()
      this.#found.set(place, words)
      words.add(position, word)
    }
  }

  /** Marks the words of all occurrences. */
  *markAll(): Sliced<void> {
    for (const { places, slop } of this.#wanted.phrases) {
      const found = places.map(({ offset, place }) => {
        return { offset, words: this.#found.get(place) ?? NO_WORDS }
      })
      if (this.#poll.spend(found.length)) yield this.#poll.renewed()
      if (found.some(({ words }) => words.byPosition.size === 0)) continue
      if (slop === 0 || found.length === 1) yield* this.#markExact(found)
      else yield* this.#markSloppy(found, slop)
    }
  }

  *#markExact(found: readonly FoundPlace[]): Sliced<void> {
    const [first] = found.toSorted((a, b) => a.words.byPosition.size - b.words.byPosition.size)
    if (first === undefined) return
    for (const position of first.words.byPosition.keys()) {
      const start = position - first.offset
      const isThere = found.every(({ offset, words }) => words.byPosition.has(start + offset))
      if (isThere) for (const { offset, words } of found) words.markAt(start + offset)
      if (this.#poll.spend(found.length)) yield this.#poll.renewed()
    }
  }

  *#markSloppy(found: readonly FoundPlace[], slop: number): Sliced<void> {
    const positions = new Map<FoundWords, Uint32Array>()
    for (const { words } of found) {
      if (!positions.has(words)) positions.set(words, Uint32Array.from(words.byPosition.keys()))
    }
    const lists = found.map(({ offset, words }) => {
      const values = positions.get(words) ?? new Uint32Array()
      return { offset, found: { values, length: values.length }, at: 0 }
    })
    const mark = (entries: readonly number[]): void => {
      for (const [l, { words }] of found.entries()) {
        words.markAt(lists[l]?.found.values[entries[l] ?? 0] ?? 0)
      }
    }
    const walk = sloppyFrequency(lists, slop, this.#poll, mark)
    while (walk.next().done !== true) yield this.#poll.renewed()
  }
}
