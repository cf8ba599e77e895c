// What clients notice of planned hand-overs: operators transfer leaderships, drain nodes and use them again, in the
// middle of bursts of requests. All of it is real code in virtual time, so that no other load of the machine counts.

import { expect } from 'chai'
import { simulateCluster } from '../support/simulation/cluster/cluster-simulation.ts'

/** `QUARRY_SIMULATION_SEEDS=1000` for a long run. */
const SEEDS = Number(process.env['QUARRY_SIMULATION_SEEDS'] ?? 8)
const FIRST_SEED = Number(process.env['QUARRY_SIMULATION_FIRST'] ?? 1)
/** A message takes 0.2 ms and a disk up to 1 ms here. Heartbeats and pauses take 100 ms and more. */
const WAIT_MS_MAX = 50

describe('a planned hand-over in a simulated cluster', () => {
  it('fails no request, and keeps none waiting for more than some messages and writes', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const operations = { write: 3, read: 3 }
      const options = { seed, faults: ['operator'], operations, clients: 6 } as const
      const { codes, longestMs } = await simulateCluster(options)

      expect(codes, `seed ${seed}`).to.deep.equal([])
      expect(longestMs, `seed ${seed}`).to.be.at.most(WAIT_MS_MAX)
    }
  }).timeout(600_000)
})
