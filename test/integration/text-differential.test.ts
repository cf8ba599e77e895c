// The engine against BM25's formula applied document by document: random corpora, queries, updates,
// flushes, merges, crashes and reopenings. A failure names its seed: `QUARRY_TEST_SEED=<seed>` runs
// that corpus first.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { seededRandom, type Random } from '../../lib/random.ts'
import { mergeStatistics } from '../../node/index/text/search/merge-statistics.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import type { TextSizes } from '../support/loads/text-generator.ts'
import { describing, expectPages, TextWorld } from '../support/worlds/text-world.ts'

const { seed: baseSeed, textCorpora } = parseTestSettings(process.env)
/** A corpus takes some milliseconds; a busy machine may take ten times as long. */
const CORPUS_TIMEOUT_MS = 300
const SMALL_RUN = { steps: 6, upsertsMax: 12 } as const
/** 508079: a field that only deleted documents had. */
const ONCE_DIFFERENT = [508_079] as const

function below(random: Random, bound: number): number {
  return Math.floor(random() * bound)
}

function smallSizes(random: Random): TextSizes {
  return {
    words: 2 + below(random, 12),
    keys: 3 + below(random, 30),
    tokensMax: 1 + below(random, 10),
    hasRareFields: true,
  }
}

/** Runs `corpus` with one seed after the other. */
function repeat(count: number, corpus: (random: Random, seed: number) => void): void {
  for (let seed = baseSeed; seed < baseSeed + count; seed += 1) {
    describing({ QUARRY_TEST_SEED: seed }, () => corpus(seededRandom(seed), seed))
  }
}

function runWorld(
  world: TextWorld,
  run: { readonly steps: number; readonly upsertsMax: number },
): void {
  world.write(run.upsertsMax)
  for (let step = 0; step < run.steps; step += 1) {
    if (world.make.below(3) === 0) world.write(run.upsertsMax)
    world.disturb()
    world.checkSearch()
  }
  world.close()
}

describe(`the text engine against the formula (QUARRY_TEST_SEED=${baseSeed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-differential-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('finds them in corpora in which it once found others', () => {
    for (const seed of ONCE_DIFFERENT) {
      const random = seededRandom(seed)
      describing({ QUARRY_TEST_SEED: seed }, () => {
        runWorld(new TextWorld({ random, sizes: smallSizes(random) }), SMALL_RUN)
      })
    }
  })

  it(`finds the same documents with the same scores in ${textCorpora} small corpora`, () => {
    repeat(textCorpora, (random, seed) => {
      const isOnDisk = seed % 4 === 0
      const own = isOnDisk ? path.join(directory, String(seed)) : undefined
      runWorld(new TextWorld({ random, sizes: smallSizes(random), directory: own }), SMALL_RUN)
      if (own !== undefined) rmSync(own, { recursive: true })
    })
  }).timeout(textCorpora * CORPUS_TIMEOUT_MS)

  const largeCorpora = Math.ceil(textCorpora / 80)
  it(`finds the same documents in ${largeCorpora} larger corpora through many changes`, () => {
    repeat(largeCorpora, (random, seed) => {
      const keys = below(random, 8) === 0 ? 1000 : 50 + below(random, 200)
      const sizes = { words: 3 + below(random, 40), keys, tokensMax: 12, hasRareFields: true }
      const own = seed % 2 === 0 ? path.join(directory, String(seed)) : undefined
      runWorld(new TextWorld({ random, sizes, directory: own }), { steps: 30, upsertsMax: keys })
    })
  }).timeout(largeCorpora * 20 * CORPUS_TIMEOUT_MS)

  const sharded = Math.ceil(textCorpora / 8)
  it(`scores ${sharded} corpora in several indexes as if they were one`, () => {
    repeat(sharded, (random) => {
      const sizes = smallSizes(random)
      const worlds = Array.from(
        { length: 2 + below(random, 3) },
        () => new TextWorld({ random, sizes }),
      )
      for (let step = 0; step < 6; step += 1) {
        for (const world of worlds) {
          world.write(8)
          world.disturb()
        }
        checkTogether(worlds)
      }
      for (const world of worlds) world.close()
    })
  }).timeout(sharded * 4 * CORPUS_TIMEOUT_MS)
})

/** Every index is searched with the statistics of all of them, as a coordinator does. */
function checkTogether(worlds: readonly TextWorld[]): void {
  const { make } = worlds[0]!
  const [query, nowMs] = [make.query(), make.nowMs()]
  const statistics = mergeStatistics(worlds.map(({ index }) => index.queryStatistics(query)))
  const collection = worlds.map(({ naive }) => naive)
  for (const { index, naive } of worlds) {
    const asked = { query, nowMs, statistics, limit: make.limit(), countTotal: true }
    describing(asked, () => {
      expectPages(index, asked, naive.search({ query, nowMs, collection }))
    })
  }
}
