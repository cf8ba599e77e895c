import { expect } from 'chai'
import { planHistory, type ClusterPlan } from '../../support/simulation/cluster/cluster-plan.ts'
import { kindOfFailure, reducePlan } from '../../support/simulation/cluster/reduce-plan.ts'

const PLAN = planHistory({
  seed: 1,
  faults: ['crash', 'cut'],
  operations: { pair: 1, read: 1 },
  rounds: 6,
})

function operationsOf({ clients }: ClusterPlan): readonly string[] {
  return clients.flatMap(({ operations }) => operations.map(({ kind }) => kind))
}

/** Fails when a crash and two pairs of the client are in it. */
async function run(plan: ClusterPlan): Promise<string | undefined> {
  const pairs = plan.clients.find(({ name }) => name === 'c2')?.operations ?? []
  const isCrashed = plan.faults.some(({ kind }) => kind === 'crash')
  const count = pairs.filter(({ kind }) => kind === 'pair').length
  if (plan.clients.length === 1 && count === 1) return 'liveness: another failure'
  return isCrashed && count >= 2 ? `read: c2 read ${count}` : undefined
}

describe('reducePlan', () => {
  it('leaves out everything that the failure does not need', async () => {
    const reduced = await reducePlan(PLAN, run)

    expect(reduced.faults.map(({ kind }) => kind)).to.deep.equal(['crash'])
    expect(reduced.clients.map(({ name }) => name)).to.deep.equal(['c2'])
    expect(operationsOf(reduced)).to.deep.equal(['pair', 'pair'])
  })

  it('keeps a history that does not fail as it is', async () => {
    expect(await reducePlan(PLAN, async () => undefined)).to.equal(PLAN)
  })

  it('keeps what another kind of failure would not need', async () => {
    const reduced = await reducePlan(PLAN, async (plan) =>
      plan.faults.length > 3 ? 'read: one' : 'liveness: other',
    )

    expect(reduced.faults).to.have.length(4)
  })
})

describe('kindOfFailure', () => {
  for (const [message, kind] of [
    ['read: c2 read c6-2 of a/r0', 'read'],
    ['liveness: shard 1 has no leader', 'liveness'],
    ['R7: the replicas of shard 2 differ', 'R7'],
    ['a moment that does not end', 'a moment that does not end'],
  ] as const) {
    it(`is "${kind}" for "${message}"`, () => {
      expect(kindOfFailure(message)).to.equal(kind)
    })
  }
})
