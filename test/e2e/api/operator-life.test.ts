// The life of clusters under the whole operator, at a real API server beside Kubernetes' own controllers. Pods, volumes,
// stores and etcds are stubs.

import { expect } from 'chai'
import { conditionOf } from '../support/operator/scene.ts'
import { useScene } from '../support/operator/use-scene.ts'
import { eventually } from '../support/eventually.ts'

describe('the operator, over the life of a cluster', function () {
  this.timeout(120_000)

  const scene = useScene(import.meta.filename)

  afterEach(() => expect(scene().kubelet.broken).to.deep.equal([]))

  it('makes a cluster with its own etcd until it is ready', async () => {
    await scene().apply('books', { nodes: { replicas: 3 } })

    const status = await scene().ready('books')

    expect(status.readyNodes).to.equal('3/3')
    expect(status.etcd).to.deep.include({ ready: 3, desired: 3 })
    expect(await scene().objectsOf('books')).to.deep.equal([
      'ConfigMap/books-config',
      'ConfigMap/books-etcd',
      'NetworkPolicy/books-etcd',
      'NetworkPolicy/books-node',
      'PodDisruptionBudget/books-etcd',
      'PodDisruptionBudget/books-node',
      'Secret/books-etcd-ca',
      'Secret/books-etcd-tls',
      'Secret/books-secret',
      'Service/books',
      'Service/books-etcd',
      'Service/books-nodes',
      'ServiceAccount/books',
      'StatefulSet/books-etcd',
      'StatefulSet/books-node',
    ])
    const events = await scene().namespace.kubectl(['get', 'events', '-o', 'json'])
    expect(events, 'nothing was made in vain').to.not.include('ObjectsDeleted')
  })

  it('adds nodes, and takes them away after their data has left them', async () => {
    await scene().edit('books', { nodes: { replicas: 4 } })
    const grown = await scene().ready('books', 4)
    const leaving = grown.members?.find(({ ordinal }) => ordinal === 3)?.nodeID ?? ''
    const { store } = scene().kubelet.cluster('books')
    store.give(leaving)

    await scene().edit('books', { nodes: { replicas: 3 } })
    await scene().ready('books', 3)

    expect(store.deeds).to.deep.equal([
      `drain ${leaving}`,
      `decommission ${leaving}`,
      `forget ${leaving}`,
    ])
    expect(Object.keys(await scene().uids('Pod', 'books'))).to.not.include('books-node-3')
    const claims = await scene().list('PersistentVolumeClaim', 'books')
    const left = claims.find(({ metadata }) => metadata.name === 'data-books-node-3')
    expect(left?.metadata.annotations).to.have.property('quarry.dev/drained')
  })

  it('waits with a node whose data cannot leave, and tells why', async () => {
    await scene().edit('books', { nodes: { replicas: 4 } })
    const grown = await scene().ready('books', 4)
    const { store } = scene().kubelet.cluster('books')
    store.give(grown.members?.find(({ ordinal }) => ordinal === 3)?.nodeID ?? '')
    store.switches.isStalled = true

    await scene().edit('books', { nodes: { replicas: 3 } })
    const stalled = await scene().becomes('books', 'waits for the drain', (status) => {
      return conditionOf(status, 'Progressing')?.reason === 'Blocked'
    })
    const pods = Object.keys(await scene().uids('Pod', 'books'))
    store.switches.isStalled = false
    await scene().ready('books', 3)

    expect(stalled.operation).to.include({ type: 'ScaleDown', phase: 'Draining' })
    expect(stalled.operation?.message).to.equal('books-node-3: shards cannot leave')
    expect(pods).to.include('books-node-3')
  })

  it('restarts each pod of the nodes once, and none of etcd', async () => {
    const before = await scene().uids('Pod', 'books')

    await scene().edit('books', {
      restartedAt: '2026-01-02T03:04:05Z',
      updateStrategy: { minReadySeconds: 0 },
    })
    await eventually(
      'all pods of nodes are others',
      () => scene().uids('Pod', 'books'),
      (pods) =>
        [0, 1, 2].every((at) => {
          const name = `books-node-${at}`
          return pods[name] !== undefined && pods[name] !== before[name]
        }),
    )
    await scene().ready('books', 3)

    const after = await scene().uids('Pod', 'books')
    const same = Object.keys(before).filter((name) => before[name] === after[name])
    expect(same).to.deep.equal(['books-etcd-0', 'books-etcd-1', 'books-etcd-2'])
  })

  it('puts a cluster to sleep and wakes it over the same volumes', async () => {
    const claims = await scene().uids('PersistentVolumeClaim', 'books')

    await scene().edit('books', { hibernate: true })
    await scene().becomes('books', 'sleeps', ({ phase }) => phase === 'Hibernated')
    const asleep = await scene().uids('Pod', 'books')
    await scene().edit('books', { hibernate: false })
    await scene().ready('books', 3)

    expect(asleep).to.deep.equal({})
    expect(await scene().uids('PersistentVolumeClaim', 'books')).to.deep.equal(claims)
  })

  it('keeps the volumes of a deleted cluster, and the next one of its name has its nodes again', async () => {
    const before = await scene().ready('books')
    const claims = await scene().uids('PersistentVolumeClaim', 'books')
    const nodeIDs = before.members?.map(({ nodeID }) => nodeID)

    await scene().namespace.kubectl(['delete', 'storecluster', 'books', '--wait=false'])
    await scene().gone('books')
    const left = await scene().uids('PersistentVolumeClaim', 'books')
    await scene().apply('books', { nodes: { replicas: 3 } })
    const after = await scene().ready('books', 3)

    expect(left).to.deep.equal(claims)
    expect(after.members?.map(({ nodeID }) => nodeID)).to.deep.equal(nodeIDs)
  })

  it('deletes the volumes of a deleted cluster whose spec says so, and everything else', async () => {
    await scene().edit('books', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } })
    await scene().ready('books')

    await scene().namespace.kubectl(['delete', 'storecluster', 'books', '--wait=false'])
    await scene().gone('books')

    // That node was drained for the cluster of before, which kept its volumes.
    await eventually(
      'nothing else is left',
      async () => [
        ...(await scene().objectsOf('books')),
        ...Object.keys(await scene().uids('Pod', 'books')),
        ...Object.keys(await scene().uids('PersistentVolumeClaim', 'books')),
      ],
      (left) => left.join() === 'data-books-node-3',
    )
  })
})
