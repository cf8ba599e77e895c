import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { analyzerOf } from '../../../../node/index/text/analysis/analyzers.ts'
import { parseOptions } from '../../../../bench/options.ts'
import { buildRequests } from '../../../../bench/load/requests.ts'
import { buildArticleSource } from '../../../../bench/data/article-source.ts'
import { parseDelayP99Ms } from '../../../../bench/text/event-loop-delay.ts'
import { measureSearches } from '../../../../bench/text/measure-searches.ts'
import {
  drawQueries,
  QUERY_CLASSES,
  TOP_HITS_CLASSES,
} from '../../../../bench/data/query-classes.ts'
import type { TextQuery } from '../../../../bench/data/query-classes.ts'
import { findingsOf } from '../../../../bench/text/search-findings.ts'
import type { ClassTimes } from '../../../../bench/text/search-findings.ts'
import type { TextEngine } from '../../../../bench/peers/text-engine.ts'
import { drawRank, VOCABULARY_WORDS } from '../../../../bench/data/vocabulary.ts'

const articles = buildArticleSource(1)

describe('bench vocabulary', () => {
  it('has words that the standard analyzer keeps as one term each', () => {
    const analyzer = analyzerOf('standard')!

    const terms = analyzer.analyze(articles.words.join(' ')).map(({ term }) => term)

    expect(terms.length).to.equal(VOCABULARY_WORDS)
    expect(terms.every((term, rank) => term === articles.words[rank])).to.equal(true)
    expect(new Set(terms).size).to.equal(VOCABULARY_WORDS)
  })

  it('is drawn by Zipf: the share of a rank falls as the rank grows', () => {
    const random = seededRandom(5)
    const draws = 400_000
    const counts = new Float64Array(VOCABULARY_WORDS)
    for (let i = 0; i < draws; i += 1) counts[drawRank(random)]! += 1

    const shareOf = (from: number, to: number): number =>
      counts.subarray(from, to).reduce((sum, count) => sum + count, 0) / draws

    // The integral of 1 / (rank + 2.7), over that of the whole vocabulary.
    const whole = Math.log((VOCABULARY_WORDS + 2.7) / 2.7)
    expect(shareOf(0, 10)).to.be.closeTo(Math.log(12.7 / 2.7) / whole, 0.005)
    expect(shareOf(500, 5000)).to.be.closeTo(Math.log(5002.7 / 502.7) / whole, 0.005)
    expect(shareOf(20_000, VOCABULARY_WORDS)).to.be.closeTo(
      Math.log((VOCABULARY_WORDS + 2.7) / 20_002.7) / whole,
      0.005,
    )
  })
})

describe('bench articles', () => {
  it('are JSON of 250 bytes to 1 KiB, ASCII only', () => {
    for (let index = 0; index < 2000; index += 1) {
      const document = articles.documentAt(index)
      const { title, body, category, price, createdMs } = articles.articleAt(index)

      const created = new Date(createdMs).toISOString()
      expect(JSON.parse(document)).to.deep.equal({ title, body, category, price, created })
      expect(Buffer.byteLength(document), `document ${index}`).to.be.within(250, 1024)
      expect(document.length).to.equal(Buffer.byteLength(document))
    }
  })

  it('are the same for the same seed, and differ for another seed or number', () => {
    const texts = [1, 1, 2].map((seed) => buildArticleSource(seed).documentAt(42))

    expect(texts[0]).to.equal(texts[1])
    expect(texts[0]).to.not.equal(texts[2])
    expect(texts[0]).to.not.equal(articles.documentAt(43))
  })

  it('name the ranks of the words of their bodies', () => {
    const { body, ranks } = articles.articleAt(7)

    const words = body.toLowerCase().match(/[a-z]+/g)
    expect(ranks.map((rank) => articles.words[rank])).to.deep.equal(words)
  })
})

function drawAll(seed: number): readonly (readonly TextQuery[])[] {
  const of = { seed, documents: 500, count: 5 }
  return QUERY_CLASSES.map((one) => drawQueries(articles, one, of))
}

describe('bench queries', () => {
  it('are the same for the same seed, and differ for another', () => {
    expect(drawAll(3)).to.deep.equal(drawAll(3))
    expect(drawAll(3)).to.not.deep.equal(drawAll(4))
  })

  it('are different in each class', () => {
    const texts = drawAll(3).flatMap((queries) => queries.map((query) => JSON.stringify(query)))

    expect(new Set(texts).size).to.equal(texts.length)
  })

  it('are sent over HTTP without end, or up to a limit', () => {
    const plan = { kind: 'searches', path: '/', articlesSeed: 1, documents: 500, seed: 3 } as const
    const endless = buildRequests({ ...plan, requestsMax: undefined })
    const bounded = buildRequests({ ...plan, requestsMax: 2 })
    const repeated = TOP_HITS_CLASSES.length * 100

    const sent = Array.from({ length: repeated + 1 }, () => endless())

    expect(sent[repeated]).to.equal(sent[0])
    expect([bounded(), bounded(), bounded()]).to.deep.equal([sent[0], sent[1], undefined])
  })

  it('have a name for each class', () => {
    expect(new Set(QUERY_CLASSES.map(({ name }) => name)).size).to.equal(QUERY_CLASSES.length)
  })

  it('are sent over HTTP class after class, and ask for the titles of the hits', () => {
    const plan = {
      kind: 'searches',
      path: '/query',
      articlesSeed: 1,
      documents: 500,
      seed: 3,
    } as const
    const [one, other] = [
      buildRequests({ ...plan, requestsMax: undefined }),
      buildRequests({ ...plan, requestsMax: undefined }),
    ]

    const sent = TOP_HITS_CLASSES.map(() => one()!.toString())

    expect(new Set(sent).size).to.equal(TOP_HITS_CLASSES.length)
    for (const request of sent) {
      expect(request).to.match(/^POST \/query HTTP\/1.1\r\n.*"fields":\["title"\]\}$/s)
      expect(other()!.toString()).to.equal(request)
    }
  })
})

function measure(bounds?: { budgetMs: number; queriesMin: number }): readonly number[] {
  const clock = new ManualClock()
  const engine: TextEngine = {
    load: () => undefined,
    prepare: () => () => clock.advance(10),
    answer: () => ({ total: 0, figures: [] }),
    [Symbol.dispose]: () => undefined,
  }
  const [queries] = QUERY_CLASSES.map((one) =>
    drawQueries(articles, one, { seed: 1, documents: 100, count: 8 }),
  )
  return measureSearches(engine, { queries: queries!, bounds }, clock)
}

const parse = (...args: string[]) => parseOptions(['text', ...args], ['documents', 'text'])

describe('bench options for text', () => {
  it('leave the number of documents to the rows unless it is given', () => {
    expect(parse().documents).to.equal(undefined)
    expect(parse('--documents', '200000').documents).to.equal(200_000)
  })

  it('refuse no documents at all', () => {
    expect(() => parse('--documents', '0')).to.throw('--documents must be a whole number above 0')
  })
})

describe('bench measureSearches', () => {
  it('measures every query without a bound', () => {
    expect(measure()).to.deep.equal(Array.from({ length: 8 }, () => 10))
  })

  it('stops when the time is used up', () => {
    expect(measure({ budgetMs: 25, queriesMin: 1 }).length).to.equal(3)
  })

  it('runs the fewest queries that count, however long they take', () => {
    expect(measure({ budgetMs: 5, queriesMin: 4 }).length).to.equal(4)
  })
})

describe('bench search findings', () => {
  const [first, second] = QUERY_CLASSES
  const times: ClassTimes[] = [
    {
      queryClass: first!,
      rounds: { quarry: [[1, 1, 4, 2]], FTS5: [[10, 10]], MiniSearch: [[5, 5, 5, 5]] },
    },
    {
      queryClass: second!,
      rounds: { quarry: [[2, 2, 2, 2]], FTS5: [[1, 1, 1, 1]], MiniSearch: [[4, 4, 4, 4]] },
    },
  ]
  const { findings, latencies, notes } = findingsOf(times, { documents: 100, queriesPerRound: 4 })
  const find = (label: string) => findings.filter((finding) => finding.label.includes(label))

  it('compare queries per second over queries that both engines have answered', () => {
    const [againstFts5, againstMiniSearch] = find(first!.name)

    expect(againstFts5).to.include({ kind: 'ratio', peerName: 'FTS5' })
    expect(againstFts5).to.deep.include({ ours: [1000], peer: [100] })
    expect(againstMiniSearch).to.deep.include({ ours: [500], peer: [200] })
  })

  it('take the median over the classes, round by round', () => {
    expect(find('the ratio to FTS5')[0]!.ours).to.deep.equal([(10 + 0.5) / 2])
    expect(find('the ratio to MiniSearch')[0]!.ours).to.deep.equal([(2.5 + 2) / 2])
  })

  it('let no class be slower than FTS5', () => {
    const [againstFts5, againstMiniSearch] = find(second!.name)

    expect(againstFts5!.goal).to.deep.equal({ kind: 'at-least', value: 1 })
    expect(againstMiniSearch).to.not.have.property('goal')
  })

  it('show the slowest of all queries of one or two terms', () => {
    expect(find('p99').map(({ ours }) => ours)).to.deep.equal([[4], [4]])
  })

  it('show percentiles of every engine, and the engines that answered fewer queries', () => {
    expect(latencies.length).to.equal(6)
    expect(latencies[0]).to.deep.include({ side: 'quarry', p50Ms: [1], p95Ms: [4], p99Ms: [4] })
    expect(notes.length).to.equal(1)
    expect(notes[0]).to.match(new RegExp(`^FTS5 .*: ${first!.name} \\(2\\)$`))
  })
})

describe('bench delay of the event loop', () => {
  it('is the value of the metric minus the period of its timer', () => {
    const metrics =
      'nodejs_eventloop_lag_p90_seconds 0.5\nnodejs_eventloop_lag_p99_seconds 0.0125\n'

    expect(parseDelayP99Ms(metrics)).to.be.closeTo(2.5, 1e-9)
  })

  it('is an error where the metric is missing', () => {
    expect(() => parseDelayP99Ms('quarry_other 1\n')).to.throw('metric of the event loop')
  })
})

function bodiesOf(next: () => Buffer | undefined): readonly (string | undefined)[] {
  return Array.from({ length: 3 }, () => next()?.toString().split('\r\n\r\n')[1])
}

describe('a plan of given bodies', () => {
  const plan = { kind: 'bodies', path: '/query', bodies: ['{"a":1}', '{"b":22}'] } as const
  it('sends each body once, or again and again', () => {
    expect(bodiesOf(buildRequests({ ...plan, repeats: false }))).to.deep.equal([
      '{"a":1}',
      '{"b":22}',
      undefined,
    ])
    expect(bodiesOf(buildRequests({ ...plan, repeats: true }))).to.deep.equal([
      '{"a":1}',
      '{"b":22}',
      '{"a":1}',
    ])
  })
})
