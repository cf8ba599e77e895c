import { expect } from 'chai'
import { seededRandom } from '../../../../lib/random.ts'
import { decide } from '../../../../operator/machines/decide.ts'
import {
  calm,
  DISTURBANCE_KINDS,
  DISTURBANCES,
  isExplicit,
  runPass,
  hasBadTemplate,
  settle,
  simulate,
} from '../../../support/operator/operator-run.ts'
import { World } from '../../../support/operator/world.ts'

/** `npm run test:soak:operator` tries more. */
const SEEDS = Number(process.env['QUARRY_OPERATOR_SEEDS'] ?? 60)
const FIRST_SEED = Number(process.env['QUARRY_OPERATOR_FIRST_SEED'] ?? 1)
const TICKS = 120

const ALL = DISTURBANCE_KINDS
/** Without the changes that put a cluster to sleep or end it, so that the others have more time. */
const AWAKE = ALL.filter((kind) => !['hibernate', 'delete', 'pause'].includes(kind))

describe('the operator over a modelled cluster', () => {
  for (const [name, disturbances] of Object.entries({ everything: ALL, awake: AWAKE })) {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      it(`keeps its promises and settles after ${name} (seed ${seed})`, () => {
        const random = seededRandom(seed)
        const replicationFactor = 2 + (seed % 2)

        const settled = simulate({ random, decide, disturbances, ticks: TICKS, replicationFactor })

        expect(isExplicit(settled), JSON.stringify(settled.status.conditions)).to.equal(true)
      })
    }
  }

  it('takes no step and writes nothing when a cluster is as its spec says', () => {
    const world = new World({ replicationFactor: 3 })
    settle(world, decide)

    for (let pass = 0; pass < 50; pass++) {
      const before = world.cluster.version
      world.tick()
      const decision = runPass(world, decide)

      expect(decision.step).to.equal(undefined)
      expect(decision.events).to.deep.equal([])
      expect(world.cluster.version).to.equal(before)
    }
  })

  it('is ready again as the spec says after each disturbance by itself', () => {
    for (const kind of AWAKE) {
      const world = new World({ replicationFactor: 2 })
      settle(world, decide)
      DISTURBANCES[kind](world, seededRandom(5))
      for (let tick = 0; tick < 20; tick++) {
        runPass(world, decide)
        world.tick()
      }
      calm(world)
      if (hasBadTemplate(world)) world.edit({ digest: 'good' })

      const { status } = settle(world, decide)

      const ready = status.conditions?.find(({ type }) => type === 'Ready')
      expect(ready?.status, `${kind}: ${JSON.stringify(status.conditions)}`).to.equal('True')
      expect(status.nodes?.ready).to.equal(world.cluster.wish.replicas)
    }
  })
})
