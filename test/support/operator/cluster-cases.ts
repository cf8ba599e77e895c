// A dozen states of clusters, for what people see of them.

import type { ReadCluster } from '../../../cli/k8s/cluster-reader.ts'
import type { ClusterOperation } from '../../../operator/kinds/cluster/operation.ts'
import {
  ago,
  clusterObject,
  conditions,
  event,
  member,
  pod,
  podsOf,
  read,
  statusOf,
  volume,
  withoutUse,
} from './cluster-states.ts'

const CRASH = {
  reason: 'CrashLoopBackOff',
  message: 'back-off 5m0s restarting failed container=quarry',
}

function operation(changes: Partial<ClusterOperation>): ClusterOperation {
  return {
    type: 'Upgrade',
    id: 'b8f9c2a4.lx',
    phase: 'Gate',
    generation: 3,
    startedAt: ago(14),
    stepStartedAt: ago(4),
    lastProgressAt: ago(4),
    attempts: 0,
    ...changes,
  }
}

const advancing = (type: string, reason: string, message: string, minutes: number) =>
  conditions({
    Ready: ['False', 'OperationInProgress', type, minutes],
    Progressing: ['True', reason, message, minutes],
  })

export const CLUSTER_CASES: Readonly<Record<string, () => ReadCluster>> = {
  healthy: () =>
    read(clusterObject(statusOf(3)), {
      events: [
        event('ClusterReady', 'Ready is True', 200),
        event('UpgradeEnded', 'Upgrade is over', 205),
      ],
    }),

  'not looked at': () => read(clusterObject(undefined, { generation: 1 }), { pods: [] }),

  creating: () => {
    const { members: _members, volumes, version: _version, etcd, ...rest } = statusOf(3)
    const status = {
      ...rest,
      phase: 'Pending',
      health: 'Unknown',
      nodes: { desired: 3, current: 3, ready: 0, updated: 3 },
      members: [0, 1, 2].map((at) => ({ podName: `books-node-${at}`, ordinal: at, ready: false })),
      volumes: (volumes ?? []).map(withoutUse).map((one) =>
        one.claimName === 'data-books-node-2'
          ? {
              claimName: one.claimName,
              component: one.component,
              requested: '50Gi',
              state: 'Pending' as const,
            }
          : one,
      ),
      etcd: { ready: 3, desired: 3, members: etcd?.members ?? [], leader: 'books-etcd-0' },
      operation: operation({
        type: 'Create',
        phase: 'StartingNodes',
        startedAt: ago(1.5),
        stepStartedAt: ago(0.6),
        lastProgressAt: ago(0.6),
        message: 'not joined yet: books-node-0, books-node-1, books-node-2',
      }),
      conditions: conditions({
        Ready: ['False', 'OperationInProgress', 'Create', 1.5],
        Available: ['False', 'Starting', '', 1.5],
        Progressing: ['True', 'WaitingForPods', 'not joined yet: books-node-0', 1.5],
        StorageReady: ['False', 'ClaimsPending', 'data-books-node-2', 1.5],
        InferenceReady: ['False', 'ModelsLoading', '', 1.5],
      }),
    } as const
    return read(clusterObject(status), {
      pods: podsOf(3, {
        'books-node-0': pod('books-node-0', {
          waiting: { reason: 'ContainerCreating', message: '' },
        }),
        'books-node-1': pod('books-node-1', {
          waiting: { reason: 'ContainerCreating', message: '' },
        }),
        'books-node-2': pod('books-node-2', {
          unschedulable: 'pod has unbound immediate PersistentVolumeClaims',
        }),
      }),
      events: [
        event('CreateStarted', 'Create has begun', 1.5),
        event('SetCreated', 'nodes with 3 pods', 0.6),
      ],
    })
  },

  rolling: () =>
    read(
      clusterObject(
        statusOf(3, {
          phase: 'Updating',
          targetVersion: '1.3.0',
          nodes: { desired: 3, current: 3, ready: 3, updated: 1 },
          members: [
            member(0, { underReplicated: 2 }),
            member(1),
            member(2, { version: '1.3.0', leaderCount: 0 }),
          ],
          operation: operation({
            targetOrdinal: 1,
            message: 'shards have too few replicas in sync',
          }),
          conditions: advancing(
            'Upgrade',
            'WaitingForReplicas',
            'shards have too few replicas in sync',
            14,
          ),
        }),
      ),
      { events: [event('UpgradeStarted', 'Upgrade has begun', 14)] },
    ),

  'rollout stalled': () =>
    read(
      clusterObject(
        statusOf(3, {
          phase: 'Degraded',
          health: 'Degraded',
          healthMessage: '12 shards have fewer replicas in sync than they want',
          targetVersion: '1.3.0',
          nodes: { desired: 3, current: 3, ready: 2, updated: 1 },
          members: [
            member(0),
            member(1),
            member(2, { ready: false, version: '1.3.0', leaderCount: 0 }),
          ],
          operation: operation({
            phase: 'WaitReady',
            targetOrdinal: 2,
            stepStartedAt: ago(16),
            startedAt: ago(17),
            lastProgressAt: ago(16),
            message: 'back-off 5m0s restarting failed container=quarry',
          }),
          conditions: conditions({
            Ready: ['False', 'OperationInProgress', 'Upgrade', 17],
            Progressing: [
              'False',
              'Stalled',
              'back-off 5m0s restarting failed container=quarry',
              12,
            ],
            Degraded: [
              'True',
              'CrashLooping',
              'books-node-2: back-off 5m0s restarting failed container=quarry',
              15,
            ],
          }),
        }),
      ),
      {
        pods: podsOf(3, { 'books-node-2': pod('books-node-2', { waiting: CRASH, restarts: 7 }) }),
        events: [
          event(
            'CrashLooping',
            'Degraded is True: books-node-2: back-off 5m0s restarting failed container=quarry',
            15,
            'Warning',
          ),
          event('UpgradeStarted', 'Upgrade has begun', 17),
        ],
      },
    ),

  'scale-down blocked': () =>
    read(
      clusterObject(
        statusOf(5, {
          phase: 'Degraded',
          members: [0, 1, 2, 3, 4].map((at) => member(at, { draining: at > 2 })),
          operation: operation({
            type: 'ScaleDown',
            phase: 'Draining',
            fromReplicas: 5,
            toReplicas: 3,
            startedAt: ago(190),
            stepStartedAt: ago(189),
            lastProgressAt: ago(65),
            targets: [3, 4].map((ordinal) => ({
              ordinal,
              phase: 'Draining',
              remaining: 4 * ordinal,
            })),
            message: 'books-node-4: table catalog wants 5 replicas, and 3 nodes would stay',
          }),
          conditions: conditions({
            Ready: ['False', 'OperationInProgress', 'ScaleDown', 190],
            Progressing: [
              'False',
              'Blocked',
              'books-node-4: table catalog wants 5 replicas, and 3 nodes would stay',
              64,
            ],
            Degraded: [
              'True',
              'DrainBlocked',
              'books-node-4: table catalog wants 5 replicas, and 3 nodes would stay',
              64,
            ],
          }),
        }),
      ),
      { pods: podsOf(5) },
    ),

  'etcd without quorum': () =>
    read(
      clusterObject(
        statusOf(3, {
          phase: 'Degraded',
          health: 'Degraded',
          healthMessage:
            'the control plane does not answer: shards serve as before, and nothing can be changed',
          etcd: {
            ready: 1,
            desired: 3,
            members: [
              { name: 'books-etcd-0', id: 'e0', ready: true },
              { name: 'books-etcd-1', id: 'e1', ready: false },
              { name: 'books-etcd-2', id: 'e2', ready: false },
            ],
          },
          conditions: conditions({
            Ready: ['False', 'EtcdNotReady', '', 7],
            Available: ['False', 'QuorumLost', 'etcd has no quorum', 7],
            Degraded: ['True', 'EtcdDegraded', 'less than a majority of members answer', 7],
            EtcdReady: ['False', 'QuorumLost', 'less than a majority of members answer', 7],
          }),
        }),
      ),
      {
        pods: podsOf(3, {
          'books-etcd-1': pod('books-etcd-1', {
            unschedulable: '0/3 nodes are available: 2 node(s) had untolerated taint',
          }),
          'books-etcd-2': pod('books-etcd-2', { waiting: CRASH, restarts: 12 }),
        }),
        events: [
          event(
            'QuorumLost',
            'EtcdReady is False: less than a majority of members answer',
            7,
            'Warning',
          ),
        ],
      },
    ),

  'invalid spec': () =>
    read(
      clusterObject(
        statusOf(3, {
          observedGeneration: 4,
          conditions: conditions({
            Ready: ['False', 'InvalidSpec', '', 3],
            Progressing: ['False', 'InvalidSpec', 'the spec is not valid', 3],
            SpecValid: [
              'False',
              'UnsupportedVersionChange',
              '1.2.3 runs, and 1.5.0 is more than one minor version ahead',
              3,
            ],
            SecretsReady: [
              'False',
              'SecretNotFound',
              'spec.secretStoreRef.name: no Secret books-secrets',
              3,
            ],
            Paused: ['True', 'PausedByAnnotation', '', 600],
          }),
        }),
        { generation: 5 },
      ),
    ),

  hibernated: () => {
    const status = statusOf(3)
    return read(
      clusterObject({
        ...status,
        phase: 'Hibernated',
        health: 'Unknown',
        nodes: { desired: 3, current: 0, ready: 0, updated: 0 },
        members: [0, 1, 2].map((at) => ({
          podName: `books-node-${at}`,
          ordinal: at,
          nodeID: `7c1e42aa-${at}`,
          ready: false,
        })),
        volumes: (status.volumes ?? []).map(withoutUse),
        etcd: {
          ready: 0,
          desired: 3,
          members: [0, 1, 2].map((at) => ({
            name: `books-etcd-${at}`,
            id: `e${at}`,
            ready: false,
          })),
        },
        conditions: conditions({
          Ready: ['False', 'Hibernated', '', 3000],
          Available: ['False', 'Hibernated', '', 3000],
          EtcdReady: ['False', 'Hibernated', '', 3000],
          InferenceReady: ['False', 'Hibernated', '', 3000],
          Hibernated: ['True', 'Hibernated', '', 3000],
        }),
      }),
      { pods: [] },
    )
  },

  'a disk is full': () =>
    read(
      clusterObject(
        statusOf(3, {
          phase: 'Degraded',
          health: 'Degraded',
          healthMessage: 'node books-node-1 is short of disk space',
          volumes: [
            ...[0, 1, 2].map((at) => volume(`data-books-etcd-${at}`)),
            volume('data-books-node-0', { requested: '100Gi', state: 'Resizing', usedPercent: 70 }),
            volume('data-books-node-1', {
              requested: '100Gi',
              state: 'ResizeFailed',
              usedPercent: 95,
            }),
            volume('data-books-node-2', { requested: '100Gi', capacity: '100Gi', usedPercent: 40 }),
          ],
          conditions: conditions({
            Ready: ['False', 'HealthDegraded', 'node books-node-1 is short of disk space', 40],
            Degraded: ['True', 'DiskNearlyFull', 'data-books-node-1', 45],
            StorageReady: ['False', 'ExpansionFailed', 'the provider has no more than 50Gi', 20],
          }),
        }),
      ),
    ),

  'one node': () => {
    const { etcd: _, ...rest } = statusOf(1)
    return read(
      clusterObject(
        {
          ...rest,
          members: [member(0, { podName: 'books-node-0', zone: '', inferenceReady: false })],
          volumes: [volume('data-books-node-0')],
          conditions: conditions({
            EtcdReady: undefined,
            InferenceReady: ['False', 'ModelsLoading', '', 3],
          }),
        },
        { mode: 'SingleNode' },
      ),
      {
        pods: [pod('books-node-0')],
        gaps: [
          'events are not shown: events is forbidden: User "ada" cannot list resource "events" in API group "" in the namespace "library"',
        ],
      },
    )
  },

  'a hundred nodes': () =>
    read(
      clusterObject(
        statusOf(100, {
          phase: 'Degraded',
          nodes: { desired: 100, current: 100, ready: 98, updated: 100 },
          members: Array.from({ length: 100 }, (_, at) =>
            at === 17 || at === 63 ? member(at, { ready: false }) : member(at),
          ),
          volumes: Array.from({ length: 100 }, (_, at) =>
            volume(`data-books-node-${at}`, { usedPercent: at === 40 ? 90 : 30 + (at % 40) }),
          ),
          conditions: conditions({
            Ready: ['False', 'PodsNotReady', '98 of 100 are ready', 22],
            Degraded: [
              'True',
              'Unschedulable',
              'books-node-17: 0/100 nodes are available: insufficient memory',
              22,
            ],
          }),
        }),
      ),
      {
        pods: podsOf(100, {
          'books-node-17': pod('books-node-17', {
            unschedulable: '0/100 nodes are available: insufficient memory',
          }),
          'books-node-63': pod('books-node-63', { waiting: CRASH }),
        }),
      },
    ),
}
