import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { LiveSegment } from '../../../../../../node/index/text/live/live-segment.ts'
import { Poll } from '../../../../../../node/index/text/poll.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import {
  SegmentSearch,
  type MatchRequest,
} from '../../../../../../node/index/text/matching/segment-search.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'
import { TextGenerator } from '../../../../../support/loads/text-generator.ts'
import { describing } from '../../../../../support/worlds/text-world.ts'

const { seed: baseSeed } = parseTestSettings(process.env)
const CORPORA = 60
const QUERIES = 12
/** Units of work between two pauses: within one document, and within a few. */
const BUDGETS = [1, 40]

describe(`walks that pause (QUARRY_TEST_SEED=${baseSeed})`, () => {
  it('find what walks without a pause find, with the same scores', () => {
    let pauses = 0
    for (let seed = baseSeed; seed < baseSeed + CORPORA; seed += 1) {
      const make = new TextGenerator(seededRandom(seed), { words: 6, keys: 40, tokensMax: 12 })
      const snapshot = indexOf(make).snapshot()
      for (let i = 0; i < QUERIES; i += 1) {
        const request = { query: make.query(), filter: make.query(1), nowMs: make.nowMs() }
        describing({ seed, request }, () => {
          const expected = visitsOf(snapshot.segments, request, Infinity)
          for (const budget of BUDGETS) {
            const paused = visitsOf(snapshot.segments, request, budget)
            expect(paused.visits).to.deep.equal(expected.visits)
            pauses += paused.pauses
          }
        })
      }
      snapshot.release()
    }
    expect(pauses).to.be.above(CORPORA * QUERIES * 10)
  })
})

/** Two segments, one of them in memory. */
function indexOf(make: TextGenerator): TextIndex {
  const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
  for (const sequence of [1, 2]) {
    const upserts = Array.from({ length: 60 }, () => make.document())
    index.apply({ sequence, upserts, deletes: [] })
    if (sequence === 1) index.flush()
  }
  return index
}

const SCORING = { statistics: undefined, scores: true } as const

function visitsOf(segments: readonly LiveSegment[], request: MatchRequest, budget: number) {
  const run = runAtOnce(SegmentSearch.begin(segments, request, SCORING, new Poll(budget)))
  const visits: [number, number, number][] = []
  let pauses = 0
  for (const [i, live] of segments.entries()) {
    const walk = run.walk(live, (doc, scorer) => visits.push([i, doc, scorer.score()]))
    for (const _ of walk) pauses += 1
  }
  return { visits, pauses }
}
