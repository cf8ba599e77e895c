import { expect } from 'chai'
import { simulateReplication } from '../../../../support/simulation/replication-simulation.ts'

/** `QUARRY_SIMULATION_SEEDS=100000` for a long run. */
const SEEDS = Number(process.env['QUARRY_SIMULATION_SEEDS'] ?? 500)
const FIRST_SEED = Number(process.env['QUARRY_SIMULATION_FIRST'] ?? 1)

/** The message of a failure names the seed: it alone repeats the run. */
function runSeed(seed: number): ReturnType<typeof simulateReplication> {
  try {
    return simulateReplication({ seed })
  } catch (error) {
    throw new Error(`QUARRY_SIMULATION_FIRST=${seed} QUARRY_SIMULATION_SEEDS=1 repeats it`, {
      cause: error,
    })
  }
}

describe('replication, simulated', () => {
  it('repeats itself with the same seed', () => {
    const first = simulateReplication({ seed: FIRST_SEED })

    expect(simulateReplication({ seed: FIRST_SEED })).to.deep.equal(first)
    expect(simulateReplication({ seed: FIRST_SEED + 1 }).trace).to.not.equal(first.trace)
  })

  it('loses no write, reads no stale value, and recovers from every failure', () => {
    let writes = 0
    let refused = 0
    let reads = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const { acknowledgedWrites, refusedWrites, servedReads } = runSeed(seed)
      writes += acknowledgedWrites
      refused += refusedWrites
      reads += servedReads
    }

    // A simulation in which nothing happens would prove nothing.
    expect(writes / SEEDS).to.be.above(200)
    expect(refused / SEEDS).to.be.above(1)
    expect(reads / SEEDS).to.be.above(100)
  }).timeout(0)
})
