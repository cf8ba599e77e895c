// Random documents and queries for a text index, in the engine's own terms.

import type { Random } from '../../../lib/random.ts'
import type { EngineQuery, TermMatcher } from '../../../node/index/text/engine-query.ts'
import type { SortField } from '../../../node/index/text/matching/sorted-hits.ts'
import type {
  IndexableDocument,
  IndexableToken,
  TokenSequence,
} from '../../../node/index/text/indexable-document.ts'
import {
  fuzzyMatcher,
  fuzzyRanking,
  prefixMatcher,
  termRangeMatcher,
} from '../../../node/index/text/mapping/term-matchers.ts'

import { TermTable } from '../../../node/index/text/encoding/term-table.ts'
import { tokenListOf } from '../worlds/field-tokens.ts'
import { countTo } from './load.ts'
import { valueOf, wordOf } from './script-texts.ts'

/** Documents expire in the hundred milliseconds around this moment. */
export const NOW_MS = 1000

export interface TextSizes {
  /** Distinct words; the first ones are frequent. */
  readonly words: number
  /** About how many distinct keys there are. */
  readonly keys: number
  /** The most tokens of an ordinary text. One text in five is up to six times as long. */
  readonly tokensMax: number
  /** Whether some ranges of keys have a word that their texts hardly say anything but. */
  readonly hasThemes?: boolean
  /** Whether few documents have some of the fields. */
  readonly hasRareFields?: boolean
}

/** Values of many scripts, and some that are words of texts. */
const TAGS = ['t0', 'T1', '', wordOf(0), wordOf(12), ...countTo(24).map((n) => valueOf(n * 7 + 1))]

/** A document in so many lacks a field that many have, or has one that few have. */
const MANY_LACK = 10
const FEW_HAVE = [2, 5, 12, 60]
const TEXTS_PER_TABLE = 60

export class TextGenerator {
  readonly random: Random
  readonly sizes: TextSizes
  /** For each field, whether a document has it: fields of many and of few are kept in two ways. */
  readonly #has: readonly (() => boolean)[]
  #terms = new TermTable()
  #listed = 0

  constructor(random: Random, sizes: TextSizes) {
    this.random = random
    this.sizes = sizes
    this.#has = countTo(4).map(() => {
      const few = this.pick(FEW_HAVE)
      const isRare = sizes.hasRareFields === true && this.below(3) === 0
      return isRare ? () => this.below(few) === 0 : () => this.below(MANY_LACK) > 0
    })
  }

  /** Tokens as a document has them. Documents get another table of terms from time to time. */
  tokens(tokens: readonly IndexableToken[]): TokenSequence {
    this.#listed += 1
    if (this.#listed % TEXTS_PER_TABLE === 0) this.#terms = new TermTable()
    return tokenListOf(tokens, this.#terms)
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound)
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }

  /** A time around the expiries, mostly the same one. */
  nowMs(): number {
    return this.below(3) === 0 ? NOW_MS - 60 + this.below(120) : NOW_MS
  }

  word(): string {
    return wordOf(Math.floor(this.sizes.words * this.random() ** 2))
  }

  /** Keys of one range begin alike, so that their texts may have a theme. */
  key(): Uint8Array {
    const number = this.below(this.sizes.keys)
    return Buffer.from(`k${number}${this.below(3) > 0 ? valueOf(number % 50) : ''}`, 'utf8')
  }

  document(): IndexableDocument {
    const most = this.sizes.tokensMax * (this.below(5) === 0 ? 6 : 1)
    const length = this.below(12) === 0 ? 0 : 1 + this.below(most)
    const key = this.key()
    const theme = this.sizes.hasThemes === true ? themeOf(key) : undefined
    let position = -1
    const tokens = Array.from({ length }, () => {
      position += this.below(6) === 0 ? 2 : 1
      return { term: theme !== undefined && this.below(4) > 0 ? theme : this.word(), position }
    })
    const few = <T>(make: () => T): T[] => Array.from({ length: this.below(3) }, make)
    const place = () => ({ lon: this.below(20), lat: this.below(20) })
    const title = Array.from({ length: this.below(4) }, (_, at) => {
      return { term: this.below(8) === 0 ? 'https' : this.word(), position: at }
    })
    const fields: IndexableDocument['fields'] = [
      { kind: 'text', name: 'body', tokens: this.tokens(tokens), length },
      { kind: 'text', name: 'title', tokens: this.tokens(title), length: title.length },
      { kind: 'keyword', name: 'tag', values: few(() => this.pick(TAGS)) },
      { kind: 'number', name: 'rank', values: few(() => this.below(20) / 2 - 3) },
      { kind: 'point', name: 'place', values: few(place) },
    ]
    return {
      key,
      expiresAtMs: this.below(8) === 0 ? NOW_MS - 50 + this.below(100) : 0,
      fields: fields.filter((_, i) => this.#has[i]?.() ?? true),
    }
  }

  query(depth = 2): EngineQuery {
    const boost = this.#boost()
    const parts = (most: number): EngineQuery[] =>
      Array.from({ length: this.below(most + 1) }, () => this.query(depth - 1))
    const words = (most: number): EngineQuery[] =>
      Array.from({ length: 1 + this.below(most) }, () => this.#termQuery())
    const none = { must: [], should: [], minShould: 0, mustNot: [], filter: [] }
    switch (this.below(depth > 0 ? 11 : 5)) {
      case 0:
      case 1:
      case 2:
        return this.#constantQuery(boost)
      case 3:
        return this.#phrase(boost)
      case 4:
        return this.#termQuery()
      case 5:
        return { kind: 'boolean', ...none, should: words(5), boost }
      case 6:
        return { kind: 'boolean', ...none, must: words(3), boost, mustNot: parts(1) }
      case 7:
        return { kind: 'best', parts: [this.query(depth - 1), ...parts(2)], boost }
      case 8:
        return { kind: 'boolean', ...none, must: words(1), should: this.#evidence(), boost }
      default: {
        const should = parts(3)
        const minShould = this.below(should.length + 2)
        const lists = { must: parts(2), should, mustNot: parts(1), filter: parts(1) }
        return { kind: 'boolean', ...lists, minShould, boost }
      }
    }
  }

  /** One to three fields, one of which no document may have. */
  sortFields(): readonly SortField[] {
    return Array.from({ length: 1 + this.below(3) }, (): SortField => {
      const descending = this.below(2) === 0
      const by = this.pick(['score', 'key', 'rank', 'rank', 'tag', 'tag', 'absent'] as const)
      return by === 'score' || by === 'key'
        ? { by, descending }
        : { by: 'column', field: by, descending }
    })
  }

  /** Mostly a handful, so that there is something to leave out. */
  limit(): number {
    return this.below(4) === 0 ? 1 + this.below(2000) : 1 + this.below(12)
  }

  #boost(): number {
    return this.below(3) === 0 ? 0.5 + this.below(4) : 1
  }

  /** What exact matches add, as of a typed text: as rare as in another field, weighed by the field, and whole values. */
  #evidence(): readonly EngineQuery[] {
    const typed = Array.from({ length: 1 + this.below(3) }, () => this.word())
    const alike = typed.map((term) => ({ field: 'body', terms: [term] }))
    const [first = ''] = typed
    const title = { field: 'title', boost: this.#boost(), shapedIn: 'body' } as const
    const positions = typed.map((term, offset) => ({ offset, terms: [term] }))
    const keyword = { kind: 'keyword', field: 'tag', matcher: prefixMatcher(first) } as const
    const words = { kind: 'words', positions, length: typed.length } as const
    const value = this.below(2) === 0 ? undefined : { field: 'tag', term: this.pick(TAGS) }
    const options = { distance: 1 + this.below(2), prefixLength: 0 }
    const matcher = fuzzyMatcher(first, options)
    const ranking = { ...fuzzyRanking(first, options), name: `near ${options.distance} ${first}` }
    const evidence: readonly EngineQuery[] = [
      { kind: 'term', ...title, term: first, alike: { field: 'body', terms: [first] } },
      { kind: 'phrase', ...title, positions, slop: 0, alike },
      {
        kind: 'whole',
        ...title,
        forms: this.below(3) === 0 ? [words, keyword] : [words],
        alike,
        value,
      },
      { kind: 'expand', ...title, field: 'body', scoredIn: 'title', matcher, ranking },
    ]
    return evidence.filter(() => this.below(3) > 0)
  }

  #constantQuery(boost: number): EngineQuery {
    switch (this.below(4)) {
      case 0:
        return this.#expansion(boost)
      case 1: {
        const min = this.below(4) === 0 ? -Infinity : this.below(8) - 3
        const max = this.below(4) === 0 ? Infinity : this.below(8)
        return { kind: 'range', field: 'rank', min, max, boost }
      }
      case 2:
        return this.#area(boost)
      default:
        return this.#keyQuery(boost)
    }
  }

  #keyQuery(boost: number): EngineQuery {
    const queries: readonly EngineQuery[] = [
      { kind: 'keys', keys: [this.key(), this.key()], boost },
      { kind: 'key-prefix', prefix: Buffer.from(`k${this.below(10)}`), boost },
      { kind: 'key-prefix', prefix: this.key().subarray(0, 1 + this.below(6)), boost },
      { kind: 'all', boost },
      { kind: 'exists', field: this.pick(['body', 'tag', 'rank', 'place', 'absent']), boost },
      { kind: 'none' },
    ]
    return this.pick(queries)
  }

  #termQuery(): EngineQuery {
    const boost = this.#boost()
    return this.below(6) === 0
      ? { kind: 'term', field: 'tag', term: this.pick(TAGS), boost }
      : { kind: 'term', field: 'body', term: this.word(), boost }
  }

  /** Mostly ranked: by a fuzzy word, or by a pattern of which some terms are closer than others. */
  #expansion(boost: number): EngineQuery {
    const termsMax = 1 + this.below(this.below(2) === 0 ? 4 : 20)
    if (this.below(3) === 0) {
      const [word, distance] = [this.word(), 1 + this.below(2)]
      const options = { distance, prefixLength: this.below(3) }
      const fuzzy = fuzzyRanking(word, options)
      // A ranking of another number of terms has another name.
      const ranking = { ...fuzzy, name: `${fuzzy.name} ${termsMax}`, termsMax }
      const matcher = fuzzyMatcher(word, options)
      return { kind: 'expand', field: 'body', matcher, boost, ranking }
    }
    const field = this.below(3) === 0 ? 'tag' : 'body'
    if (this.below(3) === 0) return { kind: 'expand', field, matcher: this.#termRange(), boost }
    const last = this.below(10)
    const matches = (term: string): boolean => (term.codePointAt(term.length - 1) ?? 0) % 3 !== last
    const [first = ''] = Array.from(this.below(2) === 0 ? this.word() : this.pick(TAGS))
    const prefix = this.below(4) === 0 ? '' : first
    const matcher =
      this.below(4) === 0 ? prefixMatcher(first) : { prefix, upTo: undefined, matches }
    if (this.below(3) === 0) return { kind: 'expand', field, matcher, boost }
    const ranking = {
      name: `${first} ${prefix} ${last} ${termsMax} ${this.random()}`,
      termsMax,
      closeness: anyCloseness,
    }
    return { kind: 'expand', field, matcher, boost, ranking }
  }

  /** Between two words or values of any scripts. */
  #termRange(): TermMatcher {
    const [one, other] = [this.pick(TAGS), this.below(2) === 0 ? this.word() : this.pick(TAGS)]
    const [min, max] = [one, other].toSorted((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    )
    const ends = { inclusiveMin: this.below(2) === 0, inclusiveMax: this.below(2) === 0 }
    const open = this.below(4)
    return termRangeMatcher({
      min: open === 0 ? undefined : min,
      max: open === 1 ? undefined : max,
      ...ends,
    })
  }

  #phrase(boost: number): EngineQuery {
    const length = 1 + this.below(3)
    const positions = Array.from({ length }, (_, i) => ({
      offset: this.below(8) === 0 ? i + 1 : i,
      terms: this.below(4) === 0 ? [this.word(), this.word()] : [this.word()],
    }))
    return { kind: 'phrase', field: 'body', positions, slop: this.below(4), boost }
  }

  #area(boost: number): EngineQuery {
    const west = this.below(15)
    const south = this.below(15)
    const box = { west, east: west + 6, south, north: south + 6 }
    const contains = (lon: number, lat: number): boolean =>
      lon >= west && lon <= west + 6 && lat >= south && lat <= south + 6
    return { kind: 'area', field: 'place', box, contains, boost }
  }
}

/** A closeness that several terms share, as often happens. */
function anyCloseness(term: string): number {
  return 1 / (1 + ((term.codePointAt(0) ?? 0) % 4))
}

/** One range of keys in six has one; a range is some dozens of keys that follow each other. */
function themeOf(key: Uint8Array): string | undefined {
  const range = (key[1] ?? 0) * 10 + (key[2] ?? 0)
  return range % 6 === 0 ? wordOf(range % 4) : undefined
}
