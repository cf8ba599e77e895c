// Defects planted in the indexes of a simulated shard: a history finds each one, and the same history without it passes.

import { expect } from 'chai'
import { discoverIndexDefect, INDEX_DEFECTS } from '../support/simulation/index/index-defects.ts'
import { simulateIndexes } from '../support/simulation/index/index-simulation.ts'

const SEEDS_MAX = 40

describe('simulated indexes with a defect', () => {
  for (const [what, defect] of Object.entries(INDEX_DEFECTS)) {
    it(`show ${what}`, async () => {
      const seed = await discoverIndexDefect(defect, SEEDS_MAX)

      expect(seed).to.not.equal(undefined)
      await simulateIndexes({ seed: seed ?? 0, kinds: defect.kinds })
    }).timeout(0)
  }
})
