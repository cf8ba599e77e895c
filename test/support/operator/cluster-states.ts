// Clusters in a dozen states, as the API server has them: the StoreCluster with its status, its pods, its events.

import type {
  ClusterMember,
  ClusterVolume,
  StoreClusterStatus,
} from '../../../operator/kinds/cluster/status.ts'
import type { StoreClusterCondition } from '../../../operator/kinds/cluster/conditions.ts'
import { isKnownCondition } from '../../../operator/kinds/cluster/conditions.ts'
import type { ReadCluster } from '../../../cli/k8s/cluster-reader.ts'
import type { StoredObject } from '../../../operator/runtime/api/api-object.ts'
import { assert, must } from '../../../lib/assert.ts'

export const NOW_MS = Date.parse('2026-11-27T12:00:00Z')

const UID = 'b8f9c2a4-0d5e-4c7a-9f43-2a6a1f0f6e11'
const ZONES = ['zone-a', 'zone-b', 'zone-c']

export function ago(minutes: number): string {
  return new Date(NOW_MS - minutes * 60_000).toISOString()
}

/** Status, reason, and what there is of message and age. */
type Told = readonly [status: string, reason: string, message?: string, minutes?: number]

const WELL: Readonly<Record<string, Told>> = {
  Ready: ['True', 'ClusterReady'],
  Available: ['True', 'Serving'],
  Progressing: ['False', 'Idle'],
  Degraded: ['False', 'AsExpected'],
  SpecValid: ['True', 'Valid'],
  SecretsReady: ['True', 'AllKeysPresent'],
  StorageReady: ['True', 'AtRequestedSize'],
  EtcdReady: ['True', 'AllMembersReady'],
  InferenceReady: ['True', 'ModelsLoaded'],
}

export function conditions(
  changes: Readonly<Record<string, Told | undefined>> = {},
): StoreClusterCondition[] {
  return Object.entries({ ...WELL, ...changes }).flatMap(([type, told]) => {
    if (told === undefined) return []
    const [status, reason, message = '', minutes = 200] = told
    const condition = { type, status, reason, message, observedGeneration: 3 }
    const whole = { ...condition, lastTransitionTime: ago(minutes) }
    return isCondition(whole) ? [whole] : []
  })
}

function isCondition(told: {
  readonly type: string
  readonly reason: string
}): told is StoreClusterCondition {
  assert(isKnownCondition(told), `${told.type} ${told.reason}`)
  return true
}

export function member(ordinal: number, changes: Partial<ClusterMember> = {}): ClusterMember {
  return {
    podName: `books-node-${ordinal}`,
    ordinal,
    nodeID: `7c1e42aa-${ordinal}`,
    ready: true,
    inferenceReady: true,
    zone: must(ZONES[ordinal % ZONES.length], 'a zone'),
    version: '1.2.3',
    leaderCount: 8,
    replicaCount: 24,
    draining: false,
    ...changes,
  }
}

export function volume(claimName: string, changes: Partial<ClusterVolume> = {}): ClusterVolume {
  return {
    claimName,
    component: claimName.includes('etcd') ? 'Etcd' : 'Node',
    requested: claimName.includes('etcd') ? '2Gi' : '50Gi',
    capacity: claimName.includes('etcd') ? '2Gi' : '50Gi',
    usedPercent: claimName.includes('etcd') ? 5 : 35,
    state: 'Bound',
    ...changes,
  }
}

/** How full it is is known only while its pod runs. */
export function withoutUse(whole: ClusterVolume): ClusterVolume {
  const { usedPercent: _, ...rest } = whole
  return rest
}

const ETCD = [0, 1, 2].map((at) => ({ name: `books-etcd-${at}`, id: `e${at}`, ready: true }))

/** The status of a healthy cluster with so many nodes, with changes. */
export function statusOf(
  count: number,
  changes: Partial<StoreClusterStatus> = {},
): StoreClusterStatus {
  const ordinals = Array.from({ length: count }, (_, at) => at)
  return {
    observedGeneration: 3,
    phase: 'Running',
    health: 'Healthy',
    version: '1.2.3',
    targetVersion: '1.2.3',
    nodes: { desired: count, current: count, ready: count, updated: count },
    readyNodes: `${count}/${count}`,
    members: ordinals.map((at) => member(at)),
    volumes: [
      ...ETCD.map(({ name }) => volume(`data-${name}`)),
      ...ordinals.map((at) => volume(`data-books-node-${at}`)),
    ],
    etcd: { ready: 3, desired: 3, members: ETCD, leader: 'books-etcd-1', dbSize: 50_331_648 },
    endpoints: { client: 'http://books.library.svc:8080' },
    conditions: conditions(),
    ...changes,
  }
}

/** A pod as the API has it; `waiting` is the state of its container. */
export function pod(
  name: string,
  { waiting, unschedulable, restarts = 0 }: Partial<PodState> = {},
): StoredObject {
  const isReady = waiting === undefined && unschedulable === undefined
  const state = waiting === undefined ? { running: {} } : { waiting }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'library',
      uid: name,
      resourceVersion: '1',
      labels: { 'app.kubernetes.io/component': name.includes('etcd') ? 'etcd' : 'node' },
    },
    spec: { nodeName: 'worker-1' },
    status: {
      conditions: [
        { type: 'Ready', status: isReady ? 'True' : 'False' },
        ...(unschedulable === undefined
          ? []
          : [
              {
                type: 'PodScheduled',
                status: 'False',
                reason: 'Unschedulable',
                message: unschedulable,
              },
            ]),
      ],
      containerStatuses: [{ name: 'quarry', restartCount: restarts, state }],
    },
  }
}

interface PodState {
  readonly waiting: { readonly reason: string; readonly message: string }
  readonly unschedulable: string
  readonly restarts: number
}

export function podsOf(count: number, other: Readonly<Record<string, StoredObject>> = {}) {
  const names = [
    ...ETCD.map(({ name }) => name),
    ...Array.from({ length: count }, (_, at) => `books-node-${at}`),
  ]
  return names.map((name) => other[name] ?? pod(name))
}

export function event(reason: string, message: string, minutes: number, type = 'Normal'): unknown {
  return { type, reason, message, eventTime: ago(minutes), series: null }
}

/** A StoreCluster with a status, or without one. */
export function clusterObject(
  status: StoreClusterStatus | undefined,
  { mode = 'Distributed', generation = 3 } = {},
): StoredObject {
  return {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: {
      name: 'books',
      namespace: 'library',
      uid: UID,
      resourceVersion: '7',
      generation,
    },
    spec: { mode },
    ...(status === undefined ? {} : { status }),
  }
}

export function read(
  object: StoredObject,
  { pods = podsOf(3), events = [], gaps = [] }: Partial<ReadCluster> = {},
): ReadCluster {
  return { object, pods, events, gaps }
}
