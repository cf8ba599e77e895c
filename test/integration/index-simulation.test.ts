// A shard with indexes from real code in virtual time, over crashes: see docs/lab/simulation.md.

import { expect } from 'chai'
import { withoutRealTime } from '../support/simulation/banned-time.ts'
import { simulateIndexes } from '../support/simulation/index/index-simulation.ts'

/** `QUARRY_SIMULATION_SEEDS=100000` for a long run. */
const SEEDS = Number(process.env['QUARRY_SIMULATION_SEEDS'] ?? 100)
const FIRST_SEED = Number(process.env['QUARRY_SIMULATION_FIRST'] ?? 1)

describe('simulated indexes', () => {
  it('D0: do the same for the same seed, and touch no real clock or timer', async () => {
    const first = await simulateIndexes({ seed: FIRST_SEED })

    const touched = await withoutRealTime(async () => {
      expect(await simulateIndexes({ seed: FIRST_SEED })).to.deep.equal(first)
    })

    expect(touched).to.deep.equal([])
    const other = await simulateIndexes({ seed: FIRST_SEED + 1 })
    expect(other.trace).to.not.equal(first.trace)
  }).timeout(120_000)

  it(`D18: are what their documents say after ${SEEDS} histories of crashes`, async function () {
    this.timeout(0)
    let kills = 0
    let compared = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      try {
        const result = await simulateIndexes({ seed })
        kills += result.kills
        compared += result.compared
      } catch (error) {
        const repeated = `QUARRY_SIMULATION_FIRST=${seed} QUARRY_SIMULATION_SEEDS=1 repeats it`
        throw new Error(repeated, { cause: error })
      }
    }
    expect(kills / SEEDS, 'the histories have to be of use').to.be.above(2)
    expect(compared / SEEDS).to.be.above(20)
  })
})
