import { expect } from 'chai'
import type { StoreClusterCondition } from '../../../../../operator/kinds/cluster/conditions.ts'
import { eventsOf } from '../../../../../operator/machines/status/events.ts'

const lost = (message: string): StoreClusterCondition => ({
  type: 'EtcdReady',
  status: 'False',
  reason: 'QuorumLost',
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
})

const messages = (condition: StoreClusterCondition) =>
  eventsOf(undefined, { conditions: [condition] }, undefined).map(({ message }) => message)

describe('the event about a condition', () => {
  it('ends with its message, and without a colon where it has none', () => {
    expect(messages(lost('2 of 3 are away'))).to.deep.equal(['EtcdReady is False: 2 of 3 are away'])
    expect(messages(lost(''))).to.deep.equal(['EtcdReady is False'])
  })
})
