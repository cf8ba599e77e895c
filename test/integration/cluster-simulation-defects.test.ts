// Defects planted in the nodes of a simulated cluster: a history finds each one, and the same history without it passes.

import { expect } from 'chai'
import { CLUSTER_DEFECTS } from '../support/simulation/cluster/cluster-defects.ts'
import { simulateCluster } from '../support/simulation/cluster/cluster-simulation.ts'
import { discover, showing } from '../support/simulation/cluster/planted-cluster.ts'

const SEEDS_MAX = 60

describe('a simulated cluster with a defect', () => {
  for (const [what, defect] of Object.entries(CLUSTER_DEFECTS)) {
    it(`shows ${what}`, async () => {
      const found = await discover(defect, SEEDS_MAX)

      expect(found).to.not.equal(undefined)
      await simulateCluster(showing(defect, found?.seed ?? 0))
    }).timeout(0)
  }
})
