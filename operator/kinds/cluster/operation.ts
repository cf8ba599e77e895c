// The operation that a cluster is in, as one pass of the operator leaves it to the next. What a step needs is written
// here before the step is taken, so that the operator which continues knows what was begun.

import { choice, integer, keyed, object, optional, text, time } from '../schema/fields.ts'
import type { Stored } from '../schema/fields.ts'
import { NODES_MAX } from './node-pool.ts'

/** Kubernetes' UIDs and the store's ids of nodes and operations are shorter. */
const ID_LENGTH_MAX = 128
export const COUNT_MAX = Number.MAX_SAFE_INTEGER

const OPERATION_TYPES = [
  'Create',
  'ScaleUp',
  'ScaleDown',
  'Upgrade',
  'ConfigChange',
  'Restart',
  'Resize',
  'Hibernate',
  'Resume',
  'Delete',
] as const

/** The phases of all types of operation; each type has some of them. */
const OPERATION_PHASES = [
  'Pending',
  // Create, ScaleUp, Resume
  'StartingEtcd',
  'ClearingVolume',
  'StartingNodes',
  'WaitingForNodes',
  // Upgrade, ConfigChange, Restart
  'Prepare',
  'Gate',
  'LeadershipMove',
  'Step',
  'WaitReady',
  'WaitRejoin',
  // ScaleDown
  'Requested',
  'Prechecks',
  'Draining',
  'SafeToTerminate',
  'Decommissioning',
  'Marking',
  'Shrinking',
  'Forgetting',
  'Volume',
  'Canceling',
  // Resize
  'PatchClaims',
  'OrphanSet',
  'RecreateSet',
  'FileSystem',
  // Hibernate, Delete
  'StoppingNodes',
  'StoppingEtcd',
  'RemovingVolumes',
  'RemovingChildren',
  // of several
  'Blocked',
  'Stalled',
  'Done',
  'Canceled',
  'Failed',
] as const

export function id(description: string) {
  return text(description, { max: ID_LENGTH_MAX, min: 1 })
}

export function ordinal(description: string) {
  return integer(description, { min: 0, max: 999 })
}

const phase = (description: string) => choice([...OPERATION_PHASES], description)

const target = object('One node that the operation is about.', {
  ordinal: ordinal('The number at the end of the name of its pod.'),
  phase: phase('How far the operation is with this node.'),
  nodeID: optional(id('The id that the store gave the node.')),
  podUID: optional(id('The UID of the pod when the operation began.')),
  claimUID: optional(id('The UID of the claim when the operation began.')),
  operationID: optional(id('The id by which the store knows what was asked for this node.')),
  remaining: optional(
    integer('How many replicas and leaders are still on the node.', { min: 0, max: COUNT_MAX }),
  ),
  startedAt: optional(time('When the operation began with this node.')),
  lastProgressAt: optional(time('When something last moved.')),
  message: optional(text('What the operation waits for, for people.', { max: 4096 })),
})

export const operation = object(
  'The operation that the cluster is in; absent when there is none.',
  {
    type: choice([...OPERATION_TYPES], 'What is being done.'),
    id: id('Differs from the id of every other operation of the cluster.'),
    phase: phase('How far the operation is.'),
    generation: optional(
      integer('The generation of the object that asked for it.', { min: 0, max: COUNT_MAX }),
    ),
    targetOrdinal: optional(ordinal('The node that the operation is at.')),
    targets: optional(
      keyed('The nodes that the operation is about, with what identifies them.', target, {
        max: NODES_MAX,
        keys: ['ordinal'],
      }),
    ),
    fromReplicas: optional(
      integer('How many nodes there were at its start.', { min: 0, max: NODES_MAX }),
    ),
    toReplicas: optional(integer('How many nodes there will be.', { min: 0, max: NODES_MAX })),
    fromSize: optional(text('How large the volumes were at its start.', { max: 32 })),
    toSize: optional(text('How large the volumes will be.', { max: 32 })),
    templateHash: optional(id('What the pods of the new template have in common.')),
    partition: optional(
      integer('Pods from this ordinal on are of the new template.', { min: 0, max: NODES_MAX }),
    ),
    setUID: optional(id('The UID of the StatefulSet that is being replaced.')),
    gateOpenSince: optional(time('Since when nothing is in the way of the next step.')),
    stepStartedAt: optional(time('When the step began that is being waited for.')),
    startedAt: time('When the operation began.'),
    lastProgressAt: time('When something last moved.'),
    attempts: integer('How often the present step was tried.', {
      min: 0,
      max: COUNT_MAX,
      default: 0,
    }),
    message: optional(text('What the operation waits for, for people.', { max: 4096 })),
  },
)

export type OperationType = (typeof OPERATION_TYPES)[number]
export type OperationPhase = (typeof OPERATION_PHASES)[number]
export type ClusterOperation = Stored<typeof operation>
export type OperationTarget = Stored<typeof target>
