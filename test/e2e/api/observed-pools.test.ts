// What the operator reads of StatefulSets, pods and claims, of objects that Kubernetes' own controllers have made.

import { KubeConfig } from '@kubernetes/client-node'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import type { PoolView } from '../../../operator/machines/observed/kubernetes-view.ts'
import { storageClassOf } from '../../../operator/observe/claim-view.ts'
import { poolViewOf } from '../../../operator/observe/pool-view.ts'
import { StorageClasses } from '../../../operator/observe/storage-classes.ts'
import { buildNodeSet } from '../../../operator/resources/nodes/node-set.ts'
import type { ClusterInput } from '../../../operator/resources/parts/cluster-input.ts'
import { objectNames } from '../../../operator/resources/parts/names.ts'
import { refOf } from '../../../operator/runtime/api/api-object.ts'
import type { ResourceKind, StoredObject } from '../../../operator/runtime/api/api-object.ts'
import { KubernetesClient } from '../../../operator/runtime/client/kubernetes-client.ts'
import { inputOf } from '../../support/operator/cluster-inputs.ts'
import { CLAIMS, PODS, STATEFUL_SETS } from '../../support/operator/pool-objects.ts'
import { eventually } from '../support/eventually.ts'
import { applyKinds, manifest } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const SIZE = '1.1Gi'
/** Rounded up. */
const SIZE_BYTES = 1_181_116_007
const REPLICAS = 2
const { signal } = new AbortController()

describe('the view of a pool that Kubernetes runs', () => {
  const namespace = useNamespace('api', import.meta.filename)
  let api: KubernetesClient | undefined
  let input: ClusterInput | undefined

  const opened = () => must(api, 'client')
  const built = () => must(input, 'input')
  /** Classes and volumes belong to no namespace. */
  const ownName = () => namespace().name

  before(async () => {
    const config = new KubeConfig()
    config.loadFromFile(namespace().tier.kubeconfig)
    api = new KubernetesClient(config, systemClock)
    await applyKinds(namespace())
    await namespace().apply([
      manifest({}),
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'books' } },
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: ownName() },
        provisioner: 'quarry.dev/none',
        allowVolumeExpansion: true,
      },
    ])
    const uid = await namespace().value('storecluster', 'books', '{.metadata.uid}')
    const storage = { size: SIZE, storageClassName: ownName() }
    const made = inputOf(
      { nodes: { replicas: REPLICAS, storage }, inference: { enabled: false } },
      { namespace: ownName() },
    )
    input = { ...made, cluster: { ...made.cluster, uid } }
  })

  after(async () => {
    await namespace().tier.kubectl(['delete', 'storageclass,pv', ownName(), '--wait=false'])
    await api?.[Symbol.asyncDispose]()
  })

  function makeSet(): Promise<StoredObject> {
    return opened().create(STATEFUL_SETS, buildNodeSet(built()), signal)
  }

  async function all(kind: ResourceKind): Promise<readonly StoredObject[]> {
    const selection = { kind, namespace: ownName(), labelSelector: 'app.kubernetes.io/name=quarry' }
    const { items } = await opened().list(selection, { limit: 100, continueToken: '' }, signal)
    return items
  }

  async function look(): Promise<PoolView> {
    const name = objectNames(built().cluster.name).nodeSet
    const ref = refOf(STATEFUL_SETS, { name, namespace: ownName() })
    const set = await opened().get(ref, signal)
    const [pods, claims] = await Promise.all([all(PODS), all(CLAIMS)])
    const classes = new StorageClasses({ api: opened(), clock: systemClock, log: silentLog })
    await classes.refresh(claims.map(storageClassOf), signal)
    const { cluster } = built()
    const isExpandable = (className: string | undefined) => classes.isExpandable(className)
    return poolViewOf({ set, pods, claims }, { cluster, component: 'node', isExpandable })
  }

  function lookUntil(what: string, isSo: (view: PoolView) => boolean): Promise<PoolView> {
    return eventually(what, look, isSo)
  }

  it('has the set as it was built, its pods and its claims', async () => {
    await makeSet()
    const { set, pods, claims } = await lookUntil(
      'all pods and claims are there',
      (view) =>
        view.pods.length === REPLICAS &&
        view.claims.length === REPLICAS &&
        view.set?.observedGeneration === 1,
    )

    const template = buildNodeSet(built()).spec.template
    expect(set).to.include({ generation: 1, replicas: REPLICAS, partition: 0, isDeleting: false })
    expect(set?.claimBytes).to.equal(SIZE_BYTES)
    expect(set?.template).to.deep.equal({
      digest: template.metadata?.annotations?.['quarry.dev/template-digest'],
      version: '1.2.3',
      image: 'quarry:1.2.3',
    })
    expect(
      pods.map(({ ordinal, revision, isReady }) => [ordinal, revision, isReady]),
    ).to.deep.equal([0, 1].map((ordinal) => [ordinal, set?.updateRevision, false]))
    expect(claims.map(({ name }) => name)).to.deep.equal(['data-books-node-0', 'data-books-node-1'])
    for (const claim of claims) {
      expect(claim).to.include({
        clusterUID: built().cluster.uid,
        requestedBytes: SIZE_BYTES,
        capacityBytes: 0,
        isExpandable: false,
      })
    }
  })

  it('has the capacity of a claim that is bound, and whether its class lets it grow', async () => {
    await namespace().apply({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: ownName() },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '2Gi' },
        claimRef: { namespace: ownName(), name: 'data-books-node-0' },
        hostPath: { path: '/none' },
        storageClassName: ownName(),
      },
    })

    const { claims } = await lookUntil('the claim is bound', (view) =>
      view.claims.some(({ capacityBytes }) => capacityBytes > 0),
    )

    expect(claims[0]).to.include({ capacityBytes: 2 * 1024 ** 3, isExpandable: true })
    expect(claims[1]).to.include({ capacityBytes: 0, isExpandable: false })
  })

  it('keeps the pods of a set that was deleted without them, and finds them with the next one', async () => {
    const before = await look()
    const set = must(before.set, 'set')
    const { uid, resourceVersion } = set
    const ref = refOf(STATEFUL_SETS, { name: 'books-node', namespace: ownName() })
    await opened().delete({ ref, uid, resourceVersion, propagation: 'Orphan' }, signal)
    const between = await lookUntil('the set is gone', (view) => view.set === undefined)
    await makeSet()
    const after = await lookUntil('the pods are adopted', (view) => view.pods.length === REPLICAS)

    expect(uids(between)).to.deep.equal(uids(before))
    expect(uids(after)).to.deep.equal(uids(before))
    expect(after.set?.uid).to.not.equal(uid)
  })
})

function uids({ pods }: PoolView): string[] {
  return pods.map(({ uid }) => uid)
}
