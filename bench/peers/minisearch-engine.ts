// MiniSearch as a peer. It keeps everything in memory, ranks every hit, and has neither phrases nor
// aggregations nor an order by a field: those are done here as its users do them, by a filter over
// all words of the phrase, or on the results.

import MiniSearch from 'minisearch'
import type { SearchOptions, SearchResult } from 'minisearch'
import { must, unreachable } from '../../lib/assert.ts'
import type { ArticleSource } from '../data/article-source.ts'
import { HITS } from '../data/query-classes.ts'
import type { ArticleFilter, TextQuery, WordsQuery } from '../data/query-classes.ts'
import type { TextAnswer, TextEngine } from './text-engine.ts'

type Filter = (result: SearchResult) => boolean

export class MiniSearchEngine implements TextEngine {
  readonly #articles: ArticleSource
  readonly #engine = new MiniSearch({
    fields: ['title', 'body'],
    storeFields: ['category', 'price'],
    searchOptions: { fields: ['body'] },
  })
  /** By id; the words in lower case with a space around each, so that a phrase is a substring. */
  readonly #bodies: string[] = []

  constructor(articles: ArticleSource) {
    this.#articles = articles
  }

  load(documents: number): void {
    for (let id = 0; id < documents; id += 1) {
      const { title, body, category, price, ranks } = this.#articles.articleAt(id)
      this.#engine.add({ id, title, body, category, price })
      this.#bodies.push(` ${ranks.map((rank) => this.#articles.words[rank]).join(' ')} `)
    }
  }

  prepare(query: TextQuery): () => unknown {
    const { text, options } = this.#searchOf(query)
    switch (query.outcome) {
      case 'by-score':
        return () => this.#engine.search(text, options).slice(0, HITS)
      case 'by-price':
        return () => cheapest(this.#engine.search(text, options))
      case 'categories':
        return () => largestCategories(this.#engine.search(text, options))
      default:
        return unreachable(query.outcome)
    }
  }

  answer(query: TextQuery): TextAnswer {
    const { text, options } = this.#searchOf(query)
    const results = this.#engine.search(text, options)
    const total = results.length
    switch (query.outcome) {
      case 'by-score':
        return { total, figures: [] }
      case 'by-price':
        return { total, figures: cheapest(results).map(({ price }) => Number(price)) }
      case 'categories':
        return { total, figures: largestCategories(results).map(([, count]) => count) }
      default:
        return unreachable(query.outcome)
    }
  }

  [Symbol.dispose](): void {
    this.#engine.removeAll()
  }

  #searchOf({ words, filter }: TextQuery): {
    readonly text: string
    readonly options: SearchOptions
  } {
    const filters = [this.#phraseFilter(words), facetFilter(filter)].filter(
      (one) => one !== undefined,
    )
    return {
      text: words.kind === 'prefix' ? words.prefix : words.words.join(' '),
      options: {
        combineWith: words.kind === 'or' ? 'OR' : 'AND',
        prefix: words.kind === 'prefix',
        ...(filters.length === 0
          ? {}
          : { filter: (result) => filters.every((passes) => passes(result)) }),
      },
    }
  }

  #phraseFilter(words: WordsQuery): Filter | undefined {
    if (words.kind !== 'phrase') return undefined
    const run = ` ${words.words.join(' ')} `
    return ({ id }) => must(this.#bodies[Number(id)], 'body').includes(run)
  }
}

function facetFilter(filter: ArticleFilter | undefined): Filter | undefined {
  if (filter === undefined) return undefined
  if (filter.kind === 'category') return ({ category }) => category === filter.category
  return ({ price }) => price >= filter.min && price < filter.max
}

/** Kept sorted while walking, which is faster than sorting all. */
function cheapest(results: readonly SearchResult[]): readonly SearchResult[] {
  const best: SearchResult[] = []
  for (const result of results) {
    if (best.length === HITS && result['price'] >= best.at(-1)?.['price']) continue
    const at = best.findIndex(({ price }) => price > result['price'])
    best.splice(at === -1 ? best.length : at, 0, result)
    if (best.length > HITS) best.pop()
  }
  return best
}

function largestCategories(
  results: readonly SearchResult[],
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { category } of results) counts.set(category, (counts.get(category) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a).slice(0, HITS)
}
