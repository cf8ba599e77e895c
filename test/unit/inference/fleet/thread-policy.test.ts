import { expect } from 'chai'
import { mayHaveReplicas, threadsOf } from '../../../../inference/fleet/thread-policy.ts'

describe('cores for models', () => {
  const small = { fileBytes: 90 * 1024 ** 2 }
  const large = { fileBytes: 1024 ** 3 }
  const automatic = { threads: 0, cores: 16 }

  it('are one for each run of a small model, which several workers may load', () => {
    expect(threadsOf(small, automatic)).to.equal(1)
    expect(mayHaveReplicas(small, automatic)).to.equal(true)
  })

  it('are up to 8 for a large model, in one worker', () => {
    expect(threadsOf(large, automatic)).to.equal(8)
    expect(threadsOf(large, { threads: 0, cores: 2 })).to.equal(2)
    expect(mayHaveReplicas(large, automatic)).to.equal(false)
  })

  it('are the number that the operator sets', () => {
    expect(threadsOf(large, { threads: 3, cores: 16 })).to.equal(3)
    expect(mayHaveReplicas(large, { threads: 3, cores: 16 })).to.equal(true)
  })
})
