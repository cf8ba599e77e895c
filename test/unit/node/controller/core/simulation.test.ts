import { expect } from 'chai'
import { simulateController } from '../../../../support/simulation/controller/controller-simulation.ts'

/** `QUARRY_SIMULATION_SEEDS=100000` for a long run. */
const SEEDS = Number(process.env['QUARRY_SIMULATION_SEEDS'] ?? 400)
const FIRST_SEED = Number(process.env['QUARRY_SIMULATION_FIRST'] ?? 1)

/** The message of a failure names the seed: it alone repeats the run. */
function runSeed(seed: number): ReturnType<typeof simulateController> {
  try {
    return simulateController({ seed })
  } catch (error) {
    throw new Error(`QUARRY_SIMULATION_FIRST=${seed} QUARRY_SIMULATION_SEEDS=1 repeats it`, {
      cause: error,
    })
  }
}

describe('the controller, simulated', () => {
  it('does the same with the same seed', () => {
    const first = simulateController({ seed: FIRST_SEED })

    expect(simulateController({ seed: FIRST_SEED })).to.deep.equal(first)
    expect(simulateController({ seed: FIRST_SEED + 1 }).trace).to.not.equal(first.trace)
  })

  it('keeps every promise in each step, and comes to rest, whatever fails', () => {
    const kinds = new Map<string, number>()
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      for (const [kind, count] of runSeed(seed).kinds) {
        kinds.set(kind, (kinds.get(kind) ?? 0) + count)
      }
    }

    // A simulation in which nothing happens would prove nothing.
    for (const [kind, count] of kinds) expect(count / SEEDS, kind).to.be.above(0.05)
  }).timeout(0)
})
