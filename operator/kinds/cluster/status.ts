// What the operator answers: the status of a StoreCluster.

import {
  choice,
  flag,
  integer,
  keyed,
  list,
  object,
  optional,
  set,
  text,
  time,
} from '../schema/fields.ts'
import type { Stored } from '../schema/fields.ts'
import { condition } from './conditions.ts'
import { NODES_MAX } from './node-pool.ts'
import { COUNT_MAX, id, operation, ordinal } from './operation.ts'

const ETCD_MEMBERS_MAX = 9
/** Volumes of nodes, their volumes of models, and those of etcd; more of them when a cluster has just shrunk. */
const VOLUMES_MAX = 256
const CONDITIONS_MAX = 32
const FORMER_NODES_MAX = 8
const NAME_MAX = 253

const name = (description: string) => text(description, { max: NAME_MAX, min: 1 })
const word = (description: string) => text(description, { max: 128 })
const count = (description: string) => integer(description, { min: 0, max: COUNT_MAX })
const sizeText = (description: string) =>
  text(description, {
    max: 32,
    pattern: String.raw`^[0-9]+(\.[0-9]+)?([KMGTPE]i|[mkMGTPE]|[eE][0-9]+)?$`,
  })

const member = object('One node.', {
  podName: name('The pod of the node.'),
  ordinal: ordinal('The number at the end of the name of the pod.'),
  nodeID: optional(id('The id that the store gave the node; it stays with the volume.')),
  formerNodeIDs: optional(
    list(
      'Ids that the node had with volumes that are gone; the store still has to forget them.',
      id('An id.'),
      { max: FORMER_NODES_MAX },
    ),
  ),
  podUID: optional(id('The UID of the pod.')),
  claimUID: optional(id('The UID of the claim, by which a replaced volume is noticed.')),
  zone: optional(word('The zone of the node.')),
  version: optional(word('The version that the node runs.')),
  revision: optional(name('The revision of the template that the pod was made from.')),
  ready: flag('Whether the pod is ready.'),
  inferenceReady: optional(flag('Whether the inference server beside the node serves.')),
  leaderCount: optional(count('How many shards the node leads.')),
  replicaCount: optional(count('How many replicas of shards are on the node.')),
  underReplicated: optional(count('How many of its shards lack replicas.')),
  draining: optional(flag('Whether the node is being emptied.')),
})

const volume = object('One volume.', {
  claimName: name('The claim of the volume.'),
  component: choice(['Node', 'Etcd', 'Models'], 'What the volume is for.'),
  requested: optional(sizeText('The size that was asked for.')),
  capacity: optional(sizeText('The size that the volume has.')),
  usedPercent: optional(integer('How full the volume is, in percent.', { min: 0, max: 100 })),
  state: choice(
    ['Pending', 'Bound', 'Resizing', 'FileSystemResizePending', 'ResizeFailed', 'Lost'],
    'What the volume is doing.',
  ),
})

const etcdMember = object('One member.', {
  name: name('The name of the member, which is the name of its pod.'),
  id: optional(word('The id that etcd gave the member.')),
  claimUID: optional(id('The UID of the claim, by which a replaced volume is noticed.')),
  ready: flag('Whether the member answers.'),
  learner: optional(flag('Whether the member does not vote yet.')),
  version: optional(word('The version that the member runs.')),
  dbSize: optional(count("The bytes of the member's database.")),
})

const etcdStatus = object('The etcd that the operator runs; absent with an external one.', {
  ready: count('How many members answer.'),
  desired: count('How many members there are to be.'),
  members: optional(keyed('The members.', etcdMember, { max: ETCD_MEMBERS_MAX, keys: ['name'] })),
  leader: optional(name('The member that leads.')),
  dbSize: optional(count('The bytes of the largest database.')),
  alarms: optional(
    set('Alarms that etcd raised.', choice(['NoSpace', 'Corrupt'], 'An alarm.'), { max: 2 }),
  ),
})

const nodeCounts = object('How many nodes there are.', {
  desired: count('How many there are to be.'),
  current: count('How many pods there are.'),
  ready: count('How many are ready.'),
  updated: count('How many are of the newest template.'),
})

export const status = object('What the cluster is. The operator alone writes it.', {
  observedGeneration: optional(count('The generation of the object that the status is about.')),
  phase: optional(
    choice(
      ['Pending', 'Running', 'Updating', 'Scaling', 'Degraded', 'Hibernated', 'Failed', 'Deleting'],
      'The conditions in one word for people; programs read the conditions.',
    ),
  ),
  health: optional(
    choice(
      ['Healthy', 'Degraded', 'Unhealthy', 'Error', 'Unknown'],
      'What the store says of itself; Unknown if no node answers.',
    ),
  ),
  healthMessage: optional(text('Why the store is not healthy.', { max: 4096 })),
  version: optional(word('The lowest version that runs.')),
  targetVersion: optional(word('The version that all nodes are to run.')),
  image: optional(text('The image that all nodes are to run.', { max: 512 })),
  configHash: optional(word('What the present options have in common.')),
  selector: optional(text('Selects the pods of the nodes, for autoscalers.', { max: 1024 })),
  nodes: optional(nodeCounts),
  readyNodes: optional(text('Ready and desired nodes, such as 3/3.', { max: 32 })),
  members: optional(keyed('The nodes, one by one.', member, { max: NODES_MAX, keys: ['podName'] })),
  volumes: optional(
    keyed('The volumes, one by one.', volume, { max: VOLUMES_MAX, keys: ['claimName'] }),
  ),
  largestCapacity: optional(
    sizeText(
      'The capacity of the largest volume of a node, to which spec.nodes.storage.size may go back; absent until all are known.',
    ),
  ),
  grownSize: optional(
    sizeText('The size to which volumes grew by spec.nodes.storage.autoGrow, if that is more.'),
  ),
  lastGrownAt: optional(time('When volumes last grew by spec.nodes.storage.autoGrow.')),
  etcd: optional(etcdStatus),
  operation: optional(operation),
  endpoints: optional(
    object('Where the cluster is reached.', {
      client: optional(text('The URL of the API.', { max: 512 })),
      metrics: optional(text('The URL of the metrics of one node.', { max: 512 })),
    }),
  ),
  conditions: optional(
    keyed('What is known about the cluster, by type.', condition, {
      max: CONDITIONS_MAX,
      keys: ['type'],
    }),
  ),
})

export type StoreClusterStatus = Stored<typeof status>
export type ClusterMember = Stored<typeof member>
export type ClusterVolume = Stored<typeof volume>
export type EtcdStatus = Stored<typeof etcdStatus>
export type EtcdMember = Stored<typeof etcdMember>
export type ClusterPhase = NonNullable<StoreClusterStatus['phase']>
export type ClusterHealth = NonNullable<StoreClusterStatus['health']>
