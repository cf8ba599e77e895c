import { expect } from 'chai'
import type { ClusterView } from '../../../../operator/machines/observed/cluster-view.ts'
import type { SetView } from '../../../../operator/machines/observed/kubernetes-view.ts'
import type { StoreClusterStatus } from '../../../../operator/kinds/cluster/status.ts'
import { clusterInputOf, type ReadBeside } from '../../../../operator/reconcile/decided.ts'
import { desiredOf } from '../../../../operator/reconcile/desired.ts'
import { ETCD_IMAGE } from '../../../../operator/resources/etcd/etcd-image.ts'
import { specOf } from '../../../support/operator/cluster-inputs.ts'

const DEFAULTS = {
  version: '2.0.0',
  nodeImage: 'hub.example/quarry',
  inferenceImage: 'hub.example/quarry-inference',
  etcdImage: '',
  operatorNamespace: 'quarry-system',
}

function clusterOf(spec: object, status?: StoreClusterStatus): ClusterView {
  return {
    name: 'books',
    namespace: 'shop',
    uid: 'u1',
    resourceVersion: '1',
    generation: 1,
    hasFinalizer: true,
    overrides: { isPaused: false, allowsDowngrade: false, skipsHealthGate: false },
    spec: specOf({ nodes: { storage: { size: '10Gi' } }, ...spec }),
    status,
  }
}

const NOTHING: ReadBeside = {
  nodeSet: undefined,
  etcdSet: undefined,
  keptEtcdImage: undefined,
  etcd: 'unreachable',
  secrets: { secretHash: 's', authorityHash: 'a', hasEtcdCertificate: false },
  hasPodMonitors: false,
}

function setOf(changes: Partial<SetView>): SetView {
  return {
    uid: 's1',
    resourceVersion: '1',
    generation: 1,
    observedGeneration: 1,
    replicas: 3,
    partition: 0,
    updateRevision: 'r1',
    isDeleting: false,
    template: { digest: 'd', version: '1.0.0', image: 'i' },
    claimBytes: 2 * 1024 ** 3,
    ...changes,
  }
}

const decidedOf = (cluster: ClusterView, beside: Partial<ReadBeside> = {}) =>
  clusterInputOf(cluster, { ...NOTHING, ...beside }, DEFAULTS).decided

const etcdStatus = (names: readonly string[]): StoreClusterStatus => ({
  etcd: {
    ready: 0,
    desired: names.length,
    members: names.map((name) => ({ name, ready: false })),
  },
})

const images = (cluster: ClusterView) => {
  const { version, images: found } = decidedOf(cluster)
  return [version, found.node, found.inference]
}

const claimGiB = (grownSize?: string) => {
  const cluster = clusterOf({}, grownSize === undefined ? {} : { grownSize })
  return desiredOf(cluster, clusterInputOf(cluster, NOTHING, DEFAULTS)).claimBytes / 1024 ** 3
}

function growthOf(autoGrow: object) {
  const cluster = clusterOf({ nodes: { storage: { size: '10Gi', autoGrow } } })
  return desiredOf(cluster, clusterInputOf(cluster, NOTHING, DEFAULTS)).autoGrow
}

describe('what is decided for the builders', () => {
  it('lets volumes grow by themselves only where the spec says so', () => {
    expect(growthOf({})).to.equal(undefined)
    expect(growthOf({ enabled: false, maxSize: '20Gi' })).to.equal(undefined)
    expect(growthOf({ enabled: true })).to.equal(undefined)
    expect(growthOf({ enabled: true, maxSize: '20Gi', increment: '1Gi' })).to.deep.equal({
      thresholdPercent: 85,
      incrementBytes: 1024 ** 3,
      maxBytes: 20 * 1024 ** 3,
    })
  })

  it('gives a new cluster the version of the operator, and keeps that of an old one', () => {
    expect(images(clusterOf({}))).to.deep.equal([
      '2.0.0',
      'hub.example/quarry:2.0.0',
      'hub.example/quarry-inference:2.0.0',
    ])
    expect(images(clusterOf({}, { targetVersion: '1.4.0' }))[0]).to.equal('1.4.0')
    expect(images(clusterOf({ version: '1.5.0' }, { targetVersion: '1.4.0' }))[0]).to.equal('1.5.0')
  })

  it('restarts no member of etcd for the default of another operator', () => {
    expect(decidedOf(clusterOf({})).images.etcd).to.equal(ETCD_IMAGE)
    const kept = decidedOf(clusterOf({}), { keptEtcdImage: 'etcd:old' })
    expect(kept.images.etcd).to.equal('etcd:old')
  })

  it('writes the same template of etcd before its set exists and after', () => {
    const cluster = clusterOf({})
    const before = clusterInputOf(cluster, NOTHING, DEFAULTS)
    const after = clusterInputOf(cluster, { ...NOTHING, etcdSet: setOf({}) }, DEFAULTS)

    expect(desiredOf(cluster, after).etcdTemplate).to.deep.equal(
      desiredOf(cluster, before).etcdTemplate,
    )
  })

  it('has the same number of pods in the second pass of a new cluster as in the first', () => {
    const second = clusterOf(
      {},
      {
        nodes: { desired: 0, current: 0, ready: 0, updated: 0 },
        etcd: { ready: 0, desired: 0, members: [] },
      },
    )
    const [first, next] = [decidedOf(clusterOf({})), decidedOf(second)]

    expect([next.nodes.replicas, next.etcd?.replicas]).to.deep.equal([3, 3])
    expect([first.nodes.replicas, first.etcd?.replicas]).to.deep.equal([3, 3])
  })

  it('lets members form a cluster until one of them was seen, and never again', () => {
    const forming = decidedOf(clusterOf({})).etcd
    expect([forming?.state, forming?.members]).to.deep.equal(['new', [0, 1, 2]])
    const recorded = clusterOf({}, etcdStatus(['books-etcd-0', 'books-etcd-2']))
    const known = decidedOf(recorded).etcd
    expect([known?.state, known?.members]).to.deep.equal(['existing', [0, 2]])
    const lost = clusterOf({}, { operation: { ...OPERATION, type: 'Resume' } })
    expect(decidedOf(lost).etcd?.state).to.equal('existing')
  })

  it('builds for the nodes that are wanted before any is remembered', () => {
    const none = { nodes: { desired: 0, current: 0, ready: 0, updated: 0 } }
    const sizes = decidedOf(clusterOf({}, { ...none, ...etcdStatus([]) }))

    expect([sizes.nodes.replicas, sizes.etcd?.replicas]).to.deep.equal([3, 3])
  })

  it('has no etcd of its own in one node, and with an external one', () => {
    expect(decidedOf(clusterOf({ mode: 'SingleNode' })).etcd).to.equal(undefined)
    const external = { etcd: { mode: 'External', endpoints: ['http://etcd:2379'] } }
    expect(decidedOf(clusterOf(external)).etcd).to.equal(undefined)
  })

  it('takes the size to which volumes grew, and never a smaller one than the spec', () => {
    expect([claimGiB(), claimGiB('20Gi'), claimGiB('5Gi')]).to.deep.equal([10, 20, 10])
  })
})

const OPERATION = {
  type: 'Create',
  id: 'o',
  phase: 'StartingEtcd',
  startedAt: '2026-01-01T00:00:00Z',
  lastProgressAt: '2026-01-01T00:00:00Z',
  attempts: 0,
} as const
