import { expect } from 'chai'
import type { PodView, PoolView } from '../../../../operator/machines/observed/kubernetes-view.ts'
import { podsWithInference, withInference } from '../../../../operator/observe/inference-state.ts'

const POD: Omit<PodView, 'name'> = {
  ordinal: 0,
  uid: 'u',
  revision: 'r',
  isReady: true,
  readyChangedAtMs: 0,
  createdAtMs: 0,
  isDeleting: false,
}
const problem = { reason: 'CrashLooping', message: 'back-off' } as const
const pool: PoolView = {
  set: undefined,
  claims: [],
  pods: [
    { ...POD, name: 'plain' },
    { ...POD, name: 'beside', inference: { state: 'Silent' } },
    { ...POD, name: 'other', inference: { state: 'Silent' } },
    { ...POD, name: 'broken', inference: { state: 'Silent', problem } },
  ],
}

describe('the inference servers beside nodes', () => {
  it('are asked where their containers run', () => {
    expect(podsWithInference(pool)).to.deep.equal(['beside', 'other'])
  })

  it('have what they answered, and are silent without an answer', () => {
    const answers = new Map([['beside', { state: 'Loading', message: 'no such model' } as const]])

    expect(withInference(pool, answers).pods.map(({ inference }) => inference)).to.deep.equal([
      undefined,
      { state: 'Loading', message: 'no such model' },
      { state: 'Silent' },
      { state: 'Silent', problem },
    ])
  })
})
