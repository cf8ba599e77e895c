import { expect } from 'chai'
import type { PoolView } from '../../../../operator/machines/observed/kubernetes-view.ts'
import { poolViewOf } from '../../../../operator/observe/pool-view.ts'
import type { PoolObjects } from '../../../../operator/observe/pool-view.ts'
import type { Component } from '../../../../operator/resources/parts/names.ts'
import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import {
  CLUSTER,
  ownedBy,
  SET_UID,
  storedClaim,
  storedPod,
  storedSet,
} from '../../../support/operator/pool-objects.ts'

const NOTHING: PoolObjects = { set: undefined, pods: [], claims: [] }

function viewOf(objects: Partial<PoolObjects>, component: Component = 'node'): PoolView {
  const of = { cluster: CLUSTER, component, isExpandable: () => true }
  return poolViewOf({ ...NOTHING, ...objects }, of)
}

function podsOf(objects: Partial<PoolObjects>, component: Component = 'node'): number[] {
  return viewOf(objects, component).pods.map(({ ordinal }) => ordinal)
}

function claimsOf(objects: Partial<PoolObjects>, component: Component = 'node'): number[] {
  return viewOf(objects, component).claims.map(({ ordinal }) => ordinal)
}

/** A pod with this controller; none for undefined. */
function podWith(name: string, owner: object | undefined) {
  return storedPod(name, { metadata: { ownerReferences: owner === undefined ? null : [owner] } })
}

const FOREIGN = { metadata: { ownerReferences: [ownedBy('another', 'books', 'StoreCluster')] } }

describe('the set of a pool', () => {
  it('is the one that the cluster owns', () => {
    expect(viewOf({ set: storedSet() }).set?.uid).to.equal(SET_UID)
    expect(viewOf({ set: storedSet({}, 'etcd') }, 'etcd').set?.uid).to.equal(SET_UID)
    expect(viewOf({}).set).to.equal(undefined)
  })

  it('is none of another owner, of nobody, of another name or another namespace', () => {
    const strangers = [
      storedSet(FOREIGN),
      storedSet({ metadata: { ownerReferences: null } }),
      storedSet({ metadata: { name: 'books-etcd' } }),
      storedSet({ metadata: { namespace: 'other' } }),
    ]

    expect(strangers.map((set) => viewOf({ set }).set)).to.deep.equal(
      strangers.map(() => undefined),
    )
  })
})

describe('the pods of a pool', () => {
  it('come by their ordinals', () => {
    const pods = [10, 2, 0, 1].map((ordinal) => storedPod(`books-node-${ordinal}`))

    expect(podsOf({ set: storedSet(), pods })).to.deep.equal([0, 1, 2, 10])
  })

  it('have names that the set gives', () => {
    const names = [
      'books-node-',
      'books-node-01',
      'books-node-+1',
      'books-node-1a',
      'books-node-1000',
      'books-node-1-1',
      'xbooks-node-1',
      'books-node1',
      'books-nodes-1',
    ]

    const pods = names.map((name) => storedPod(name))

    expect(podsOf({ set: storedSet(), pods })).to.deep.equal([])
  })

  it('have the labels by which the set selects, and its namespace', () => {
    const others = [
      ...['name', 'instance', 'component'].map(withoutLabel),
      storedPod('books-node-1', { metadata: { labels: null } }),
      storedPod('books-node-1', { metadata: { namespace: 'other' } }),
    ]

    expect(podsOf({ set: storedSet(), pods: others })).to.deep.equal([])
  })

  it('are not those of the other pool', () => {
    const pods = [storedPod('books-node-0'), storedPod('books-etcd-1')]

    expect(podsOf({ set: storedSet(), pods })).to.deep.equal([0])
    expect(podsOf({ set: storedSet({}, 'etcd'), pods }, 'etcd')).to.deep.equal([1])
  })

  it('are those of the set by its UID, and those that wait to be adopted', () => {
    const pods = [
      podWith('books-node-0', ownedBy(SET_UID)),
      podWith('books-node-1', undefined),
      podWith('books-node-2', ownedBy('set-0')),
      podWith('books-node-3', { ...ownedBy('set-0'), controller: false }),
    ]

    expect(podsOf({ set: storedSet(), pods })).to.deep.equal([0, 1, 3])
  })

  it('are those of a set of this name that the cache of sets does not show any more', () => {
    const pods = [
      podWith('books-node-0', undefined),
      podWith('books-node-1', ownedBy('set-0')),
      podWith('books-node-2', ownedBy('set-0', 'other')),
      podWith('books-node-3', ownedBy('set-0', 'books-node', 'ReplicaSet')),
    ]

    expect(podsOf({ pods })).to.deep.equal([0, 1])
  })

  it('are not those of a set of this name that is another owner’s', () => {
    const pods = [podWith('books-node-0', ownedBy(SET_UID)), podWith('books-node-1', undefined)]

    expect(podsOf({ set: storedSet(FOREIGN), pods })).to.deep.equal([1])
  })

  it('include those that stop', () => {
    const metadata = { deletionTimestamp: '2026-11-27T02:00:00Z' }
    const { pods } = viewOf({ set: storedSet(), pods: [storedPod('books-node-0', { metadata })] })

    expect(pods.map(({ isDeleting }) => isDeleting)).to.deep.equal([true])
  })
})

describe('the claims of a pool', () => {
  it('are of any cluster that had the name, whether or not there is a set', () => {
    const annotations = { 'quarry.dev/cluster-uid': 'earlier' }
    const claims = [
      storedClaim('data-books-node-1', { metadata: { annotations } }),
      storedClaim('data-books-node-0'),
    ]

    expect(claimsOf({ claims })).to.deep.equal([0, 1])
    expect(claimsOf({ claims, set: storedSet() })).to.deep.equal([0, 1])
  })

  it('are not those of models, of the other pool, or of another cluster', () => {
    const claims = [
      storedClaim('models-books-node-0'),
      storedClaim('data-books-etcd-2'),
      storedClaim('data-books-node-01'),
      storedClaim('data-books-node-0-copy'),
      storedClaim('data-books-node-3', {
        metadata: { labels: { 'app.kubernetes.io/instance': 'films' } },
      }),
    ]

    expect(claimsOf({ claims })).to.deep.equal([])
    expect(claimsOf({ claims }, 'etcd')).to.deep.equal([2])
  })
})

function withoutLabel(name: string): StoredObject {
  return storedPod('books-node-1', {
    metadata: { labels: { [`app.kubernetes.io/${name}`]: null } },
  })
}
