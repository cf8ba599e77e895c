import { expect } from 'chai'
import { decide } from '../../../../../operator/machines/decide.ts'
import { settle } from '../../../../support/operator/operator-run.ts'
import { World } from '../../../../support/operator/world.ts'

const FRESH = { cluster: 0, nodes: 0, etcd: 0 }
const MINUTE_MS = 60_000

describe('a cluster of which no watch tells anything', () => {
  it('is looked at each minute while it serves: volumes fill without a change of an object', () => {
    const world = new World({ replicationFactor: 2 })
    settle(world, decide)

    expect(decide(world.observe(FRESH)).requeueMs).to.equal(MINUTE_MS)
  })

  it('is looked at each five minutes while it sleeps', () => {
    const world = new World({ replicationFactor: 2 })
    settle(world, decide)
    world.edit({ hibernate: true })
    settle(world, decide)

    expect(decide(world.observe(FRESH)).requeueMs).to.equal(5 * MINUTE_MS)
  })
})
