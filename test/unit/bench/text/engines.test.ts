import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { Fts5Engine } from '../../../../bench/peers/fts5-engine.ts'
import { MiniSearchEngine } from '../../../../bench/peers/minisearch-engine.ts'
import { buildArticleSource } from '../../../../bench/data/article-source.ts'
import type { Article } from '../../../../bench/data/article-source.ts'
import { EngineClient } from '../../../../bench/text/engine-client.ts'
import { QuarryEngine } from '../../../../bench/text/quarry-engine.ts'
import { drawQueries, HITS, QUERY_CLASSES } from '../../../../bench/data/query-classes.ts'
import type { TextQuery, WordsQuery } from '../../../../bench/data/query-classes.ts'
import { ENGINES } from '../../../../bench/peers/text-engine.ts'
import type { EngineName, TextAnswer, TextEngine } from '../../../../bench/peers/text-engine.ts'

const DOCUMENTS = 1500
const SEED = 1
const articles = buildArticleSource(SEED)
const all = Array.from({ length: DOCUMENTS }, (_, index) => articles.articleAt(index))

function holds({ ranks }: Article, query: WordsQuery): boolean {
  const words = ranks.map((rank) => articles.words[rank]!)
  if (query.kind === 'prefix') return words.some((word) => word.startsWith(query.prefix))
  if (query.kind === 'and') return query.words.every((word) => words.includes(word))
  if (query.kind === 'or') return query.words.some((word) => words.includes(word))
  return words.some((_, from) => query.words.every((word, i) => words[from + i] === word))
}

function passes({ category, price }: Article, filter: TextQuery['filter']): boolean {
  if (filter === undefined) return true
  if (filter.kind === 'category') return category === filter.category
  return price >= filter.min && price < filter.max
}

/** By looking at every article. */
function expectedAnswer({ words, filter, outcome }: TextQuery): TextAnswer {
  const found = all.filter((article) => holds(article, words) && passes(article, filter))
  const total = found.length
  if (outcome === 'by-score') return { total, figures: [] }
  if (outcome === 'by-price') {
    const prices = found.map(({ price }) => price).toSorted((a, b) => a - b)
    return { total, figures: prices.slice(0, HITS) }
  }
  const groups = Object.values(Object.groupBy(found, ({ category }) => category))
  const counts = groups.map((group) => group!.length).toSorted((a, b) => b - a)
  return { total, figures: counts.slice(0, HITS) }
}

describe('bench engines', () => {
  let directory: string

  before(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'quarry-bench-text-'))
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  const builders: Record<EngineName, () => TextEngine> = {
    quarry: () => new QuarryEngine(articles, path.join(directory, 'index')),
    FTS5: () => new Fts5Engine(articles, path.join(directory, 'articles.db'), 'searches'),
    MiniSearch: () => new MiniSearchEngine(articles),
  }
  for (const name of ENGINES) {
    it(`${name} answers every class of queries as a scan of all articles does`, () => {
      using engine = builders[name]()
      engine.load(DOCUMENTS)

      for (const queryClass of QUERY_CLASSES) {
        const of = { seed: 9, documents: DOCUMENTS, count: 4 }
        for (const query of drawQueries(articles, queryClass, of)) {
          const expected = expectedAnswer(query)
          const shown = `${queryClass.name}: ${JSON.stringify(query)}`
          expect(engine.answer(query), shown).to.deep.equal(expected)
          if (query.filter === undefined) expect(expected.total, shown).to.be.greaterThan(0)
          engine.prepare(query)()
        }
      }
    })
  }

  it('FTS5 inserts titles and bodies', () => {
    using engine = new Fts5Engine(articles, path.join(directory, 'inserts.db'), 'inserts')

    engine.insert(0, all.slice(0, 10))

    const words = { kind: 'and', words: [articles.words[all[3]!.ranks[0]!]!] } as const
    const query = { words, filter: undefined, outcome: 'by-score' } as const
    expect(engine.answer(query).total).to.be.greaterThan(0)
  })

  it('work in processes of their own, and write a profile on request', async () => {
    const profileDirectory = path.join(directory, 'profile')
    const queries = drawQueries(articles, QUERY_CLASSES[0]!, { seed: 2, documents: 50, count: 3 })
    const options = { documents: 50, seed: SEED, directory: path.join(directory, 'child') }

    {
      await using client = await EngineClient.start({
        ...options,
        engine: 'quarry',
        profileDirectory,
      })
      const latencies = await client.measure({ queries, bounds: undefined })
      const answers = await client.answers(queries)

      expect(latencies.length).to.equal(3)
      expect(answers.every(({ total }) => total > 0)).to.equal(true)
    }

    expect(readdirSync(profileDirectory)).to.have.lengthOf(1)
  })
})
