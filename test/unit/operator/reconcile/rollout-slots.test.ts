import { expect } from 'chai'
import type { OperationType } from '../../../../operator/kinds/cluster/operation.ts'
import { RolloutSlots } from '../../../../operator/reconcile/rollout-slots.ts'

const AT = '2026-01-01T00:00:00Z'

const statusOf = (type: OperationType) => {
  const operation = { type, id: 'o', phase: 'Gate', attempts: 0 } as const
  return { operation: { ...operation, startedAt: AT, lastProgressAt: AT } }
}

describe('RolloutSlots', () => {
  it('lets as many clusters roll as there are slots, and the next one when one is over', () => {
    const slots = new RolloutSlots(1)

    slots.note('n/a', statusOf('Upgrade'))
    const while1 = [slots.mayRoll('n/a'), slots.mayRoll('n/b')]
    slots.note('n/a', {})
    const after = slots.mayRoll('n/b')

    expect([...while1, after]).to.deep.equal([true, false, true])
  })

  it('counts rollouts alone, and forgets clusters that are gone', () => {
    const slots = new RolloutSlots(1)

    slots.note('n/a', statusOf('ScaleUp'))
    const others = slots.mayRoll('n/b')
    slots.note('n/a', statusOf('Restart'))
    slots.note('n/a', undefined)

    expect([others, slots.mayRoll('n/b')]).to.deep.equal([true, true])
  })

  it('lets clusters continue the rollouts that were in flight when the operator was started', () => {
    const slots = new RolloutSlots(1)

    for (const key of ['n/a', 'n/b']) slots.note(key, statusOf('ConfigChange'))

    expect(['n/a', 'n/b', 'n/c'].map((key) => slots.mayRoll(key))).to.deep.equal([
      true,
      true,
      false,
    ])
  })
})
