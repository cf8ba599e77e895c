// The operations of a cluster and what each of their phases does.

import type { OperationPhase, OperationType } from '../kinds/cluster/operation.ts'

/** What people are told about one type of operation. */
export interface OperationAdvice {
  readonly means: string
  /** In their order; an operation may go back to an earlier one. */
  readonly phases: readonly OperationPhase[]
  /** How it is taken back, or why it is not. */
  readonly back: string
}

const ROLLOUT_PHASES = [
  'Prepare',
  'Gate',
  'LeadershipMove',
  'Step',
  'WaitReady',
  'WaitRejoin',
] as const
const ROLLOUT_BACK =
  'write the former spec: pods that are of the new template already are restarted once more'

export const OPERATIONS: Readonly<Record<OperationType, OperationAdvice>> = {
  Create: {
    means: 'the first start, also over volumes that an earlier cluster of the name has left',
    phases: ['StartingEtcd', 'ClearingVolume', 'StartingNodes'],
    back: 'delete the cluster, or write another spec: it is followed at once',
  },
  ScaleUp: {
    means: 'more nodes, spec.scaleUp.maxConcurrent at a time',
    phases: ['ClearingVolume', 'StartingNodes', 'WaitingForNodes'],
    back: 'ask for fewer nodes again: those that have joined leave by a scale-down',
  },
  ScaleDown: {
    means:
      'fewer nodes: all that leave are emptied at once, and taken away one by one, the highest ordinal first',
    phases: [
      'Requested',
      'Draining',
      'Decommissioning',
      'Marking',
      'Shrinking',
      'Forgetting',
      'Volume',
      'Canceling',
    ],
    back: 'ask for more nodes again before Decommissioning; from there the node is taken away, and a fresh one joins',
  },
  Upgrade: {
    means: 'another version or image, one pod after another',
    phases: ROLLOUT_PHASES,
    back: ROLLOUT_BACK,
  },
  ConfigChange: {
    means:
      'other options, Secrets or places, one pod after another; also pods that lag behind the template',
    phases: ROLLOUT_PHASES,
    back: ROLLOUT_BACK,
  },
  Restart: {
    means: 'a restart by spec.restartedAt, one pod after another',
    phases: ROLLOUT_PHASES,
    back: 'set spec.updateStrategy.type to Paused: the pods that were not restarted stay as they are',
  },
  Resize: {
    means:
      'the StatefulSet is made again with larger volumes for new nodes; its pods run meanwhile, and none restarts',
    phases: ['OrphanSet', 'RecreateSet'],
    back: 'is over in seconds',
  },
  Hibernate: {
    means: 'all pods stop, and volumes stay',
    phases: ['StoppingNodes', 'StoppingEtcd'],
    back: 'set spec.hibernate to false',
  },
  Resume: {
    means: 'as many nodes start as slept',
    phases: ['StartingEtcd', 'StartingNodes'],
    back: 'set spec.hibernate to true',
  },
  Delete: {
    means:
      'pods stop, volumes are kept or deleted by spec.persistentVolumeClaimRetentionPolicy.whenDeleted, and the object goes',
    phases: ['StoppingNodes', 'StoppingEtcd', 'RemovingVolumes'],
    back: 'a deletion is final; with Retain a cluster of the same name finds its documents again',
  },
}

const UNUSED = 'no operation of this version has it'

export const PHASE_MEANINGS: Readonly<Record<OperationPhase, string>> = {
  Pending: UNUSED,
  StartingEtcd: 'etcd starts and finds a quorum',
  ClearingVolume:
    'volumes of the new ordinals are taken over, or deleted if their node had left for good',
  StartingNodes: 'the StatefulSet gets its pods, and waits until their nodes have joined',
  WaitingForNodes: 'new pods become ready, and their nodes join the store',
  Prepare: 'the new template is written; no pod restarts by that',
  Gate: 'nothing may be in the way of the next restart, at two looks ten seconds apart',
  LeadershipMove: 'the node hands its leaderships over, for a minute at most',
  Step: 'one pod is replaced',
  WaitReady: 'the new pod becomes ready, and stays so for spec.updateStrategy.minReadySeconds',
  WaitRejoin: 'the store has the node back',
  Requested: 'nodes, pods and volumes are recorded, and nothing has been asked of the store',
  Prechecks: UNUSED,
  Draining: 'replicas and leaderships leave the nodes',
  SafeToTerminate: UNUSED,
  Decommissioning: 'the empty node is taken out of the store, for good',
  Marking: 'its volume gets a mark, so that nothing ever starts over it again',
  Shrinking: 'its pod goes',
  Forgetting: 'the store removes the node from its list',
  Volume: 'the volume is kept or deleted, by spec.persistentVolumeClaimRetentionPolicy.whenScaled',
  Canceling: 'drains that are not wanted any more are taken back',
  PatchClaims: UNUSED,
  OrphanSet: 'the StatefulSet is deleted without its pods',
  RecreateSet: 'another StatefulSet takes the pods over',
  FileSystem: UNUSED,
  StoppingNodes: 'pods of the nodes stop',
  StoppingEtcd: 'pods of etcd stop',
  RemovingVolumes: 'volumes are deleted, if the spec says so',
  RemovingChildren: UNUSED,
  Blocked: UNUSED,
  Stalled: UNUSED,
  Done: UNUSED,
  Canceled: UNUSED,
  Failed: UNUSED,
}
