// The best hits, found without looking at every document, against all hits: corpora whose posting
// lists are many blocks of 128 documents long, so that blocks and windows are really left out.

import { expect } from 'chai'
import { seededRandom, type Random } from '../../lib/random.ts'
import type { EngineQuery } from '../../node/index/text/engine-query.ts'
import type { SearchResult } from '../../node/index/text/matching/search.ts'
import { defaultTextIndexLimits } from '../../node/index/text/engine/text-index-options.ts'
import type { NaiveHit, NaiveSearch } from '../support/fakes/naive-text-index.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import type { TextGenerator } from '../support/loads/text-generator.ts'
import { describing, expectSame, TextWorld, TINY_LIMITS } from '../support/worlds/text-world.ts'

const { seed: baseSeed, textCorpora } = parseTestSettings(process.env)
const CORPORA = Math.ceil(textCorpora / 250)
const DOCUMENTS = 6000
const WRITTEN_MAX = 500
const QUERIES = 60
/** The naive index looks at every document, so that it is asked now and then only. */
const NAIVE_EVERY = 12
/**
 * The corpus that shows the premise is the same in every run: how much of others is left out is a matter of chance.
 */
const PREMISE_SEED = 1
const VISITED_SHARE_MAX = 0.6
const NOTHING = { must: [], should: [], minShould: 0, mustNot: [], filter: [] }

/** Segments of several thousand documents, small ones, and sometimes one in memory. */
function fill(random: Random): TextWorld {
  const sizes = { words: 60, keys: DOCUMENTS * 2, tokensMax: 6, hasThemes: true }
  const { memorySegmentBytesMax } = defaultTextIndexLimits
  const world = new TextWorld({ random, sizes, limits: { ...TINY_LIMITS, memorySegmentBytesMax } })
  for (const share of [0.6, 0.3, 0.05, 0.05]) {
    for (let left = DOCUMENTS * share; left > 0; left -= WRITTEN_MAX / 2) world.write(WRITTEN_MAX)
    if (share > 0.05 || random() < 0.5) world.index.flush()
  }
  return world
}

/** Words alone, and what is filtered out: the engine need not look at these whole. */
function wordsQuery(make: TextGenerator): EngineQuery {
  const word = (): EngineQuery => {
    const boost = make.below(3) === 0 ? 0.1 + make.below(5) : 1
    return { kind: 'term', field: 'body', term: make.word(), boost }
  }
  const words = Array.from({ length: 1 + make.below(5) }, word)
  const mustNot = make.below(4) === 0 ? [word()] : []
  const boost = make.below(3) === 0 ? 2.5 : 1
  if (make.below(3) > 0) return { kind: 'boolean', ...NOTHING, should: words, mustNot, boost }
  const range: EngineQuery = {
    kind: 'range',
    field: 'rank',
    min: -3,
    max: make.below(8),
    boost: 1,
  }
  const filter = make.below(3) === 0 ? [range] : []
  return { kind: 'boolean', ...NOTHING, must: words.slice(0, 3), mustNot, filter, boost }
}

describe(`the best hits of many (QUARRY_TEST_SEED=${baseSeed})`, () => {
  it(`are the first of all hits, in ${CORPORA} corpora of ${DOCUMENTS} documents`, () => {
    for (let seed = baseSeed; seed < baseSeed + CORPORA; seed += 1) visitedShareOf(seed)
  }).timeout(CORPORA * 20_000)

  it('are found without a look at most of the others, as the premise of these comparisons is', () => {
    expect(visitedShareOf(PREMISE_SEED)).to.be.below(VISITED_SHARE_MAX)
  }).timeout(20_000)
})

/** Compares the answers of one corpus, and answers which share of what matches the searches for the best have visited. */
function visitedShareOf(seed: number): number {
  let [visited, matching] = [0, 0]
  const world = fill(seededRandom(seed))
  const { make, naive } = world
  for (let at = 0; at < QUERIES; at += 1) {
    const filter = make.below(5) === 0 ? { filter: make.query(0) } : {}
    const asked = { query: wordsQuery(make), nowMs: make.nowMs(), ...filter }
    const limit = 1 + make.below(make.below(4) === 0 ? 300 : 20)
    describing({ QUARRY_TEST_SEED: seed, ...asked, limit }, () => {
      const every = at % NAIVE_EVERY === 0 ? naive.search(asked) : allHits(world, asked)
      visited += expectFirst(world, asked, { limit, every }).total
      matching += every.length
    })
  }
  world.close()
  return visited / matching
}

/** The order by score, asked for as any other order, is found by walking every match. */
function allHits(world: TextWorld, asked: NaiveSearch): readonly NaiveHit[] {
  const sort = [{ by: 'score', descending: true }] as const
  const request = { ...asked, sort, countTotal: true, limit: DOCUMENTS * 2 }
  const { hits } = world.index.search({ ...request })
  return hits.map(({ key, score }) => ({ key: Buffer.from(key).toString('latin1'), score }))
}

/** Also behind a hit in the middle, where the bar is not known from the start. */
function expectFirst(
  { index }: TextWorld,
  asked: NaiveSearch,
  { limit, every }: { readonly limit: number; readonly every: readonly NaiveHit[] },
): SearchResult {
  const request = { ...asked, limit }

  const best = index.search({ ...request, countTotal: false })
  const counted = index.search({ ...request, countTotal: true })

  expectSame(best.hits, every.slice(0, limit))
  expectSame(counted.hits, every.slice(0, limit))
  expect(counted.total).to.equal(every.length)
  const after = best.hits.at(-1)
  if (after !== undefined) {
    const next = index.search({ ...request, countTotal: false, after })
    expectSame(next.hits, every.slice(limit, 2 * limit))
  }
  return best
}
