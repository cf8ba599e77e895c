// Defects planted in how the answers of shards are joined: one line of production code each, that the rounds of
// shards-together.test.ts must show.

import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { DifferentAnswer, runTogether } from '../support/loads/together-rounds.ts'
import { plantFiles, type Defect } from '../support/simulation/planted-copy.ts'

const FOLDERS = {
  copied: ['node'],
  linked: ['lib', 'door', 'openapi', 'inference', 'node_modules', 'package.json'],
}
const ROUNDS = 4
/** What a defect hides may be behind the page in all queries of a run. */
const RUNS_MAX = 3

const DEFECTS: Readonly<Record<string, Defect>> = {
  'a bound of the best hit instead of the last': {
    file: 'index/text/search/text-join.ts',
    text: 'this.#hits.at(-1)',
    instead: 'this.#hits[0]',
  },
  'a bound of the wrong end, on the way back': {
    file: 'index/text/search/text-join.ts',
    text: "kind === 'before' ? this.#hits[0]",
    instead: "kind === 'before' ? this.#hits.at(-1)",
  },
  'a total of the last shard': {
    file: 'index/text/search/text-join.ts',
    text: 'this.#total += total',
    instead: 'this.#total = total',
  },
  'aggregations of the first shard': {
    file: 'index/text/search/text-join.ts',
    text: 'yield* mergePartialsSliced(this.#aggregations)',
    instead: 'yield* mergePartialsSliced(this.#aggregations.slice(0, 1))',
  },
  'statistics of some shards': {
    file: 'index/text/search/text-join.ts',
    text: 'return mergeStatistics(this.#all)',
    instead: 'return mergeStatistics(this.#all.slice(1))',
  },
  'every tie with the bound lost': {
    file: 'index/text/matching/top-hits.ts',
    text: 'this.#segment.key(doc) > this.#bound.key',
    instead: 'this.#bound.key.length >= 0',
  },
  'every tie of a sealed segment lost': {
    file: 'index/text/matching/top-hits.ts',
    text: 'this.#segment.key(0) > bound.key',
    instead: 'bound.key.length >= 0',
  },
  'a bound by doubles alone': {
    file: 'index/text/matching/sorted-hits.ts',
    text: 'if (this.#ties[i] !== undefined) return false',
    instead: 'if (this.#ties[i] === this.#sort[i]) return false',
  },
}

describe('defects in joined answers', () => {
  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`are seen: ${name}`, async () => {
      const root = plantFiles(FOLDERS, defect)
      const entry = pathToFileURL(path.join(root, 'node/index/kinds/index-worker.ts'))

      expect(await firstDifference(entry)).to.be.instanceOf(DifferentAnswer)
    }).timeout(300_000)
  }
})

async function firstDifference(entry: URL): Promise<unknown> {
  for (let seed = 1; seed <= RUNS_MAX; seed++) {
    try {
      await runTogether({ seed, rounds: ROUNDS, threads: 1, entry })
    } catch (error) {
      return error
    }
  }
  return undefined
}
