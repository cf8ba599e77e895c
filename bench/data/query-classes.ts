// The query set: what is asked, class by class. All words come from the documents, so that a query
// finds something, and the same seed asks all engines the same.

import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { PRICE_MAX } from './article-source.ts'
import type { ArticleSource } from './article-source.ts'
import { VOCABULARY_WORDS } from './vocabulary.ts'

/** What an article's body must hold. */
export type WordsQuery =
  | { readonly kind: 'and' | 'or' | 'phrase'; readonly words: readonly string[] }
  | { readonly kind: 'prefix'; readonly prefix: string }

export type ArticleFilter =
  | { readonly kind: 'category'; readonly category: string }
  | { readonly kind: 'price'; readonly min: number; readonly max: number }

/** The best by score, the cheapest, or how many hits each of the largest categories has. */
export type Outcome = 'by-score' | 'by-price' | 'categories'

export interface TextQuery {
  readonly words: WordsQuery
  readonly filter: ArticleFilter | undefined
  readonly outcome: Outcome
}

/** How many hits, or categories, a query asks for. */
export const HITS = 10

export interface QueryClass {
  readonly name: string
  readonly family: 'term' | 'and' | 'or' | 'phrase' | 'prefix' | 'filter' | 'sort' | 'aggregation'
  readonly draw: (draw: QueryDraw) => TextQuery
}

/** By rank. Most articles hold words of the first band; one in a thousand a given word of the last. */
const BANDS = {
  frequent: { from: 0, to: 50 },
  middling: { from: 500, to: 5000 },
  rare: { from: 20_000, to: VOCABULARY_WORDS },
} as const
type Band = keyof typeof BANDS

const MIXES: readonly (readonly [Band, Band])[] = [
  ['rare', 'rare'],
  ['rare', 'middling'],
  ['rare', 'frequent'],
  ['middling', 'middling'],
  ['middling', 'frequent'],
  ['frequent', 'frequent'],
]
const PRICE_RANGE = { kind: 'price', min: PRICE_MAX * 0.1, max: PRICE_MAX * 0.35 } as const
/** Nearly every article has words of every band, so that more would be a mistake of ours. */
const ARTICLES_TRIED_MAX = 1000

export const QUERY_CLASSES: readonly QueryClass[] = [
  term('rare'),
  term('middling'),
  term('frequent'),
  ...MIXES.map((mix) => pair('and', mix)),
  ...MIXES.map((mix) => pair('or', mix)),
  phrase(2),
  phrase(3),
  prefix(4),
  prefix(6),
  {
    name: 'middling term in a category',
    family: 'filter',
    draw: (draw) => {
      const filter = { kind: 'category', category: draw.category() } as const
      return { words: oneOf(draw, 'middling'), filter, outcome: 'by-score' }
    },
  },
  {
    name: 'frequent term in a range of prices',
    family: 'filter',
    draw: (draw) => {
      return { words: oneOf(draw, 'frequent'), filter: PRICE_RANGE, outcome: 'by-score' }
    },
  },
  summary('middling', 'by-price'),
  summary('frequent', 'by-price'),
  summary('middling', 'categories'),
  summary('frequent', 'categories'),
]

/** What a search box asks: terms and phrases. */
export const TOP_HITS_CLASSES: readonly QueryClass[] = QUERY_CLASSES.filter(({ family }) =>
  ['term', 'and', 'or', 'phrase'].includes(family),
)

/** The same for the same seed; every class draws from articles of its own. */
export function drawQueries(
  articles: ArticleSource,
  queryClass: QueryClass,
  of: { readonly seed: number; readonly documents: number; readonly count: number },
): readonly TextQuery[] {
  const place = QUERY_CLASSES.indexOf(queryClass)
  const random = seededRandom(of.seed * QUERY_CLASSES.length + place)
  const queryDraw = new QueryDraw(articles, of.documents, random)
  return Array.from({ length: of.count }, () => queryClass.draw(queryDraw))
}

/** Picks words out of random articles. */
export class QueryDraw {
  readonly #articles: ArticleSource
  readonly #documents: number
  readonly #random: Random

  constructor(articles: ArticleSource, documents: number, random: Random) {
    this.#articles = articles
    this.#documents = documents
    this.#random = random
  }

  category(): string {
    return this.#article().category
  }

  /** Different words, one of each band, that one article holds. */
  words(bands: readonly Band[]): readonly string[] {
    for (let tried = 0; tried < ARTICLES_TRIED_MAX; tried += 1) {
      const { ranks } = this.#article()
      const chosen = bands.map((band) => this.#pick(ranks.filter((rank) => isIn(band, rank))))
      const words = chosen.filter((rank) => rank !== undefined).map((rank) => this.#word(rank))
      if (new Set(words).size === bands.length) return words
    }
    throw new Error(`no article holds different words of the bands ${bands.join(', ')}`)
  }

  /** Words that follow each other in an article. */
  run(length: number): readonly string[] {
    const { ranks } = this.#article()
    const from = Math.floor(this.#random() * (ranks.length - length + 1))
    return ranks.slice(from, from + length).map((rank) => this.#word(rank))
  }

  #article() {
    return this.#articles.articleAt(Math.floor(this.#random() * this.#documents))
  }

  #pick(ranks: readonly number[]): number | undefined {
    return ranks[Math.floor(this.#random() * ranks.length)]
  }

  #word(rank: number): string {
    return must(this.#articles.words[rank], 'word')
  }
}

function isIn(band: Band, rank: number): boolean {
  const { from, to } = BANDS[band]
  return rank >= from && rank < to
}

function oneOf(draw: QueryDraw, band: Band): WordsQuery {
  return { kind: 'and', words: draw.words([band]) }
}

function byScore(words: WordsQuery): TextQuery {
  return { words, filter: undefined, outcome: 'by-score' }
}

function term(band: Band): QueryClass {
  return { name: `term: ${band}`, family: 'term', draw: (draw) => byScore(oneOf(draw, band)) }
}

function pair(kind: 'and' | 'or', bands: readonly [Band, Band]): QueryClass {
  return {
    name: `${kind.toUpperCase()}: ${bands.join(', ')}`,
    family: kind,
    draw: (draw) => byScore({ kind, words: draw.words(bands) }),
  }
}

function phrase(length: number): QueryClass {
  return {
    name: `phrase of ${length}`,
    family: 'phrase',
    draw: (draw) => byScore({ kind: 'phrase', words: draw.run(length) }),
  }
}

/** Of words long enough that the prefix is not all of them. */
function prefix(length: number): QueryClass {
  return {
    name: `prefix of ${length} letters`,
    family: 'prefix',
    draw: (draw) => {
      let [word = ''] = draw.words(['middling'])
      while (word.length <= length) [word = ''] = draw.words(['middling'])
      return byScore({ kind: 'prefix', prefix: word.slice(0, length) })
    },
  }
}

function summary(band: Band, outcome: 'by-price' | 'categories'): QueryClass {
  return {
    name: `${band} term, ${outcome === 'by-price' ? 'the cheapest' : 'hits by category'}`,
    family: outcome === 'by-price' ? 'sort' : 'aggregation',
    draw: (draw) => ({ words: oneOf(draw, band), filter: undefined, outcome }),
  }
}
