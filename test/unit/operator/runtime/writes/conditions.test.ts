import { expect } from 'chai'
import { InvariantError } from '../../../../../lib/assert.ts'
import { setCondition } from '../../../../../operator/runtime/writes/conditions.ts'

const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const READY = {
  type: 'Available',
  status: 'True',
  reason: 'AllNodesReady',
  message: '3 of 3 nodes are ready',
  observedGeneration: 1,
} as const

describe('setCondition', () => {
  it('sorts conditions by type, and keeps one of each', () => {
    const first = setCondition([], READY, AT_MS)
    const second = setCondition(first, { ...READY, type: 'AStart' }, AT_MS)
    const third = setCondition(second, { ...READY, reason: 'Other' }, AT_MS)

    expect(third.map(({ type, reason }) => [type, reason])).to.deep.equal([
      ['AStart', 'AllNodesReady'],
      ['Available', 'Other'],
    ])
  })

  it('moves the time of the transition only when the status changes', () => {
    const first = setCondition([], READY, AT_MS)
    const same = setCondition(
      first,
      { ...READY, message: 'new', observedGeneration: 2 },
      AT_MS + 5000,
    )
    const changed = setCondition(same, { ...READY, status: 'False' }, AT_MS + 60_000)

    const times = [first, same, changed].map(([condition]) => condition?.lastTransitionTime)
    expect(times).to.deep.equal([
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:05:05Z',
    ])
    expect(same[0]).to.include({ message: 'new', observedGeneration: 2 })
  })

  it('gives equal output for equal input', () => {
    const first = setCondition([], READY, AT_MS)

    expect(setCondition(first, READY, AT_MS + 999_999)).to.deep.equal(first)
  })

  it('takes only reasons and types that are words', () => {
    for (const reason of ['', 'two words', 'lower', 'A_b', 'Ä']) {
      expect(() => setCondition([], { ...READY, reason }, AT_MS)).to.throw(InvariantError)
    }
    expect(() => setCondition([], { ...READY, type: 'a b' }, AT_MS)).to.throw(InvariantError)
  })

  it('shortens messages', () => {
    const [condition] = setCondition([], { ...READY, message: 'x'.repeat(9000) }, AT_MS)

    expect(condition?.message).to.have.length(4096)
    expect(condition?.message.endsWith('…')).to.equal(true)
  })
})
