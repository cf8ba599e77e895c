import { expect } from 'chai'
import { decidePlacement, decideReplica } from '../../../../inference/fleet/placement-policy.ts'
import type { PlacedModel } from '../../../../inference/fleet/placement-policy.ts'

function placed(id: number, more: Partial<PlacedModel> = {}): PlacedModel {
  const idle = { isBusy: false, isWanted: false, isPinned: false, isUnserved: false }
  return { id, fileBytes: 100, workers: [0], lastUsedMs: id, ...idle, ...more }
}

describe('placing models', () => {
  const limits = { loadedModelsMax: 2, memoryBytesMax: 1000 }
  const workers = [
    { index: 0, bytes: 300 },
    { index: 1, bytes: 0 },
  ]

  const decide = (more: object) =>
    decidePlacement({ fileBytes: 100, waitedMs: 0, placed: [], workers, limits, ...more })

  it('loads a model in the worker with the least memory in use', () => {
    expect(decide({})).to.deep.equal({ kind: 'load', worker: 1 })
  })

  it('waits while no worker runs', () => {
    expect(decide({ workers: [] })).to.deep.equal({ kind: 'wait' })
  })

  it('reports at once a model that never fits', () => {
    expect(decide({ fileBytes: 700 })).to.deep.equal({ kind: 'impossible' })
  })

  it('evicts the least recently used idle models, and no more than needed', () => {
    expect(decide({ placed: [placed(2), placed(1)] })).to.deep.equal({ kind: 'evict', models: [1] })
    const large = [placed(1, { fileBytes: 300 }), placed(2, { fileBytes: 300 })]
    expect(decide({ fileBytes: 600, placed: large })).to.deep.equal({
      kind: 'evict',
      models: [1, 2],
    })
  })

  it('waits for models in use, but not without limit', () => {
    const busy = [placed(1, { isBusy: true, isWanted: true }), placed(2, { isBusy: true })]

    expect(decide({ placed: busy })).to.deep.equal({ kind: 'wait' })
    expect(decide({ placed: busy, waitedMs: 250 })).to.deep.equal({ kind: 'quiesce', model: 1 })
  })

  it('does not evict a model before the request that it was loaded for is served', () => {
    const fresh = placed(1, { isWanted: true, isUnserved: true })

    expect(decide({ placed: [fresh, placed(2, { isBusy: true })], waitedMs: 250 })).to.deep.equal({
      kind: 'quiesce',
      model: 2,
    })
    expect(decide({ placed: [fresh, fresh], waitedMs: 250 })).to.deep.equal({ kind: 'wait' })
  })

  it('never evicts a preloaded model, and reports when that leaves no room', () => {
    const pinned = placed(1, { isPinned: true })

    expect(decide({ placed: [pinned, placed(2)] })).to.deep.equal({ kind: 'evict', models: [2] })
    const busy = [pinned, placed(2, { isBusy: true })]
    expect(decide({ placed: busy, waitedMs: 250 })).to.deep.equal({ kind: 'quiesce', model: 2 })
    const full = [pinned, placed(2, { isPinned: true })]
    expect(decide({ placed: full, waitedMs: 250 })).to.deep.equal({ kind: 'impossible' })
  })

  it('loads a second copy only in a worker with room and without a copy', () => {
    const model = placed(1)
    expect(decideReplica(model, { placed: [model], workers, limits })).to.equal(1)
    const full = [model, placed(2, { fileBytes: 500 })]
    expect(decideReplica(model, { placed: full, workers, limits })).to.equal(undefined)
    const everywhere = placed(1, { workers: [0, 1] })
    expect(decideReplica(everywhere, { placed: [everywhere], workers, limits })).to.equal(undefined)
  })
})
