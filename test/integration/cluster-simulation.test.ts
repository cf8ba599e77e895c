// A small cluster from real code in virtual time, with faults: see docs/lab/simulation.md.

import { expect } from 'chai'
import { messageOf } from '../../lib/errors.ts'
import { withoutRealTime } from '../support/simulation/banned-time.ts'
import { planHistory, type ClusterPlan } from '../support/simulation/cluster/cluster-plan.ts'
import { simulateCluster } from '../support/simulation/cluster/cluster-simulation.ts'
import { reducePlan } from '../support/simulation/cluster/reduce-plan.ts'

/** `QUARRY_SIMULATION_SEEDS=100000` for a long run. */
const SEEDS = Number(process.env['QUARRY_SIMULATION_SEEDS'] ?? 200)
const FIRST_SEED = Number(process.env['QUARRY_SIMULATION_FIRST'] ?? 1)

/** Whether a history that fails is made shorter, which takes some hundred histories. */
const IS_REDUCED = process.env['QUARRY_SIMULATION_REDUCE'] === '1'

async function simulate(seed: number): Promise<number> {
  try {
    const { acknowledged } = await simulateCluster({ seed })
    return acknowledged
  } catch (error) {
    const repeated = `QUARRY_SIMULATION_FIRST=${seed} QUARRY_SIMULATION_SEEDS=1 repeats it`
    const shorter = IS_REDUCED
      ? `; shorter: simulateCluster({ seed: ${seed}, plan: ${await reduced(seed)} })`
      : '; QUARRY_SIMULATION_REDUCE=1 makes it shorter'
    throw new Error(`${repeated}${shorter}`, { cause: error })
  }
}

async function reduced(seed: number): Promise<string> {
  const failureOf = (plan: ClusterPlan): Promise<string | undefined> =>
    simulateCluster({ seed, plan }).then(() => undefined, messageOf)
  return JSON.stringify(await reducePlan(planHistory({ seed }), failureOf))
}

describe('a simulated cluster', () => {
  it('D0: does the same for the same seed, and touches no real clock or timer', async function () {
    this.timeout(120_000)
    const options = { seed: FIRST_SEED, rounds: 2 }
    const first = await simulateCluster(options)

    const touched = await withoutRealTime(async () => {
      expect(await simulateCluster(options)).to.deep.equal(first)
    })

    expect(touched).to.deep.equal([])
    const other = await simulateCluster({ ...options, seed: FIRST_SEED + 1 })
    expect(other.trace).to.not.equal(first.trace)
  })

  it(`keeps every promise in ${SEEDS} histories with faults`, async function () {
    this.timeout(0)
    let acknowledged = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      acknowledged += await simulate(seed)
    }
    expect(acknowledged / SEEDS, 'the histories have to be of use').to.be.above(20)
  })
})
