import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { STORE_CLUSTER } from '../../../../operator/kinds/cluster/store-cluster.ts'
import type { Overrides } from '../../../../operator/machines/observed/cluster-view.ts'
import { clusterViewOf } from '../../../../operator/observe/cluster-view.ts'
import { storedObjectOf } from '../../../../operator/runtime/api/api-object.ts'
import { storedCluster } from '../../../support/operator/stored-cluster.ts'
import type { ClusterChanges } from '../../../support/operator/stored-cluster.ts'

function viewOf(changes: ClusterChanges = {}) {
  const cluster = storedCluster(changes)
  const kind = { ...STORE_CLUSTER, namespaced: true }
  return clusterViewOf(must(storedObjectOf(cluster, kind), 'stored object'), cluster)
}

function overridesWith(name: string, value: string): Overrides {
  return viewOf({ metadata: { annotations: { [`quarry.dev/${name}`]: value } } }).overrides
}

const OFF: Overrides = { isPaused: false, allowsDowngrade: false, skipsHealthGate: false }

describe('the view of a StoreCluster', () => {
  it('has what identifies the object, and what people wrote', () => {
    const { spec } = storedCluster()

    expect(viewOf()).to.deep.equal({
      name: 'books',
      namespace: 'library',
      uid: 'b8f9c2a4-0d5e-4c7a-9f43-2a6a1f0f6e11',
      resourceVersion: '7',
      generation: 1,
      hasFinalizer: false,
      overrides: OFF,
      spec,
      status: undefined,
    })
  })

  it('has the status that was read', () => {
    const status = { phase: 'Running' } as const

    expect(viewOf({ status }).status).to.deep.equal(status)
  })

  it('has the finalizer only by its whole name', () => {
    const finalizers = ['quarry.dev/cluster-cleanup-2', 'foregroundDeletion']

    expect(viewOf({ metadata: { finalizers } }).hasFinalizer).to.equal(false)
    expect(
      viewOf({ metadata: { finalizers: [...finalizers, 'quarry.dev/cluster-cleanup'] } })
        .hasFinalizer,
    ).to.equal(true)
  })

  it('has the time of the deletion', () => {
    const deletionTimestamp = '2026-11-27T02:00:00Z'

    expect(viewOf({ metadata: { deletionTimestamp } }).deletedAtMs).to.equal(
      Date.UTC(2026, 10, 27, 2),
    )
  })

  it('is deleted, and nobody is hurried, at a time that cannot be read', () => {
    const { deletedAtMs } = viewOf({ metadata: { deletionTimestamp: 'yesterday' } })

    expect(deletedAtMs).to.be.greaterThan(Date.UTC(9999, 0))
  })

  const words = {
    paused: 'isPaused',
    'allow-downgrade': 'allowsDowngrade',
    'skip-health-gate': 'skipsHealthGate',
  } as const
  for (const [name, override] of Object.entries(words)) {
    it(`has the override ${name} for the word true alone`, () => {
      expect(overridesWith(name, 'true')).to.deep.equal({ ...OFF, [override]: true })
      for (const value of ['', 'false', 'True', 'TRUE', 'true ', '1', 'yes']) {
        expect(overridesWith(name, value)).to.deep.equal(OFF)
      }
    })
  }

  it('has the ordinal of a drain only for a whole number', () => {
    const numbers = { '0': 0, '7': 7, '99': 99 }
    for (const [value, forceDrainOrdinal] of Object.entries(numbers)) {
      expect(overridesWith('force-drain-ordinal', value)).to.deep.equal({
        ...OFF,
        forceDrainOrdinal,
      })
    }
    for (const value of ['', 'true', '-1', '+1', '1.0', '1e1', '01', ' 1', '1000', '٣']) {
      expect(overridesWith('force-drain-ordinal', value)).to.deep.equal(OFF)
    }
  })
})
