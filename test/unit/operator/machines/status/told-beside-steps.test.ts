// What people are told in a pass whose step is not one of the operation that they were told of.

import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { decide } from '../../../../../operator/machines/decide.ts'
import type { Observed } from '../../../../../operator/machines/observed/observed.ts'
import { runPass, settle } from '../../../../support/operator/operator-run.ts'
import { World } from '../../../../support/operator/world.ts'

const PASSES = 5
const FRESH = { cluster: 0, nodes: 0, etcd: 0 }

/** A cluster whose last node cannot be emptied, as its next pass finds it. */
function blockedDrain(): Observed {
  const world = new World({ replicationFactor: 2 })
  settle(world, decide)
  const { nodes, shards } = world.store
  const last = [...nodes.values()].find(({ name }) => name.endsWith('-2'))
  shards[0]?.splice(0, 1, { node: last?.id ?? '', inSync: true })
  world.store.isStuck = true
  world.edit({ replicas: 2 })
  for (let pass = 0; pass < PASSES; pass++) runPass(world, decide)
  return world.observe(FRESH)
}

const reasonsOf = (observed: Observed) => {
  const { status, events, step } = decide(observed)
  const told = ['Progressing', 'Degraded'].map(
    (type) => status.conditions?.find((condition) => condition.type === type)?.reason,
  )
  return { step: step?.kind, told, warnings: events.filter(({ type }) => type === 'Warning') }
}

describe('a drain that is blocked', () => {
  const told = ['Blocked', 'DrainBlocked']

  it('is told of without another event in each pass', () => {
    expect(reasonsOf(blockedDrain())).to.deep.equal({ step: undefined, told, warnings: [] })
  })

  it('is told of as before in a pass that applies an object', () => {
    const children = { outdated: ['Service/c'], surplus: [], foreign: [] }

    const reasons = reasonsOf({ ...blockedDrain(), children })

    expect(reasons).to.deep.equal({ step: 'apply_children', told, warnings: [] })
  })

  it('is told of as before in a pass that puts the number of pods right', () => {
    const { nodes, ...observed } = blockedDrain()
    const set = { ...must(nodes.set, 'the set of nodes'), replicas: 5 }

    const reasons = reasonsOf({ ...observed, nodes: { ...nodes, set } })

    expect(reasons).to.deep.equal({ step: 'set_replicas', told, warnings: [] })
  })
})
