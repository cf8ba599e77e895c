// Defects planted in the nodes of a simulated cluster: each must be found.

import { expect } from 'chai'
import { discover, type ClusterDefect } from '../support/simulation/cluster/planted-cluster.ts'

const SEEDS_MAX = 20

const DEFECTS: Readonly<Record<string, ClusterDefect>> = {
  'a follower that acknowledges before its disk has it': {
    file: 'replication/shell/replicated-log.ts',
    text: 'this.#rows.push(appended, isLast ? () => this.#durable(position) : undefined)',
    instead: 'this.#rows.push(appended)\n      if (isLast) this.#durable(position)',
    faults: ['crash_all', 'slow_disk'],
    seed: 2,
  },
  'a scan that forgets what committed transactions still hold': {
    file: 'shard/holder-reader.ts',
    text: "if (status.state !== 'committed' || status.commitTs > at) continue",
    instead: 'if (at > 0n) continue',
    faults: ['slow_network'],
    seed: 1,
  },
  'a killed node that comes back in the future': {
    file: 'clock/hybrid-clock.ts',
    text: 'if (options.waitsForBound === true && aheadMs > 0) {',
    instead: 'if (aheadMs === Infinity) {',
    faults: ['crash_all'],
    seed: 1,
  },
}

describe('a simulated cluster with a defect', () => {
  for (const [what, defect] of Object.entries(DEFECTS)) {
    it(`shows ${what}`, async () => {
      expect(await discover(defect, SEEDS_MAX)).to.not.equal(undefined)
    }).timeout(0)
  }
})
