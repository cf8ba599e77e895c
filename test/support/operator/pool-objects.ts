// The objects of a pool as the API server has stored them, each with what a test changes about it (RFC 7386).

import { must } from '../../../lib/assert.ts'
import { buildEtcdSet } from '../../../operator/resources/etcd/etcd-set.ts'
import { buildNodeSet } from '../../../operator/resources/nodes/node-set.ts'
import type { ClusterInput } from '../../../operator/resources/parts/cluster-input.ts'
import { selectorLabels } from '../../../operator/resources/parts/names.ts'
import type { Component } from '../../../operator/resources/parts/names.ts'
import { storedObjectOf } from '../../../operator/runtime/api/api-object.ts'
import type { ResourceKind, StoredObject } from '../../../operator/runtime/api/api-object.ts'
import { merged } from '../kubernetes/json-merge.ts'
import { inputOf } from './cluster-inputs.ts'

export const INPUT: ClusterInput = inputOf({ nodes: { storage: { size: '10Gi' } } })
export const { cluster: CLUSTER } = INPUT

export const STATEFUL_SETS: ResourceKind = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
}
export const PODS: ResourceKind = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
}
export const CLAIMS: ResourceKind = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
}

export const SET_UID = 'set-1'
export const CREATED_AT = '2026-11-27T02:00:00Z'

/** The set that the builders make of `INPUT`. */
export function storedSet(changes: object = {}, component: Component = 'node'): StoredObject {
  const { etcd } = INPUT.decided
  const built = component === 'node' ? buildNodeSet(INPUT) : buildEtcdSet(INPUT, must(etcd, 'etcd'))
  const metadata = { uid: SET_UID, resourceVersion: '5', generation: 2 }
  const status = { observedGeneration: 2, updateRevision: 'rev-b' }
  return stored(STATEFUL_SETS, [built, { metadata, status }, changes])
}

export function storedPod(name: string, changes: object = {}): StoredObject {
  const component = name.includes('-etcd-') ? 'etcd' : 'node'
  const pod = {
    metadata: {
      name,
      namespace: CLUSTER.namespace,
      uid: `uid-${name}`,
      resourceVersion: '6',
      creationTimestamp: CREATED_AT,
      labels: {
        ...selectorLabels(CLUSTER.name, component),
        'controller-revision-hash': 'rev-a',
      },
      ownerReferences: [ownedBy(SET_UID)],
    },
    spec: { containers: [{ name: component === 'node' ? 'quarry' : 'etcd' }] },
    status: { conditions: [] },
  }
  return stored(PODS, [pod, changes])
}

export function storedClaim(name: string, changes: object = {}): StoredObject {
  const claim = {
    metadata: {
      name,
      namespace: CLUSTER.namespace,
      uid: `uid-${name}`,
      resourceVersion: '7',
      labels: selectorLabels(CLUSTER.name, name.includes('-etcd-') ? 'etcd' : 'node'),
    },
    spec: { resources: { requests: { storage: '10Gi' } }, storageClassName: 'fast' },
    status: { phase: 'Bound', capacity: { storage: '10Gi' } },
  }
  return stored(CLAIMS, [claim, changes])
}

/** The reference to a set that a pod has. */
export function ownedBy(uid: string, name = 'books-node', kind = 'StatefulSet') {
  return { apiVersion: 'apps/v1', kind, name, uid, controller: true, blockOwnerDeletion: true }
}

function stored(kind: ResourceKind, parts: readonly object[]): StoredObject {
  const object = parts.reduce<unknown>((whole, part) => merged(whole, part), {})
  return must(storedObjectOf(object, kind), 'stored object')
}
