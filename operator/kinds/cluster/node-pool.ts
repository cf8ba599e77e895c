// The pods of a cluster's nodes: how many, with which disks, and where they run.

import {
  annotations,
  choice,
  flag,
  integer,
  labels,
  map,
  object,
  optional,
  quantity,
} from '../schema/fields.ts'
import type { Rule } from '../schema/fields.ts'
import { env, envFrom, resources } from '../core/containers.ts'
import { objectName } from '../core/names.ts'
import { affinity, tolerations, topologySpreadConstraints } from '../core/placement.ts'
import { ownedKeysRule, ownedVariablesRule } from './owned-names.ts'

export const NODES_MAX = 100
const GRACE_PERIOD_MAX_SECONDS = 3600
const STARTUP_TIMEOUT_MAX_SECONDS = 86_400

const STORAGE_RULES: readonly Rule[] = [
  {
    rule: 'has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)',
    message:
      'spec.nodes.storage.storageClassName cannot be changed, added or removed: claims keep the class that they were made with',
  },
  {
    rule: "quantity(self.size).compareTo(quantity('1Mi')) >= 0",
    message: 'spec.nodes.storage.size must be 1Mi or more',
  },
  {
    rule: '!self.autoGrow.enabled || has(self.autoGrow.maxSize)',
    message:
      'spec.nodes.storage.autoGrow.maxSize must be set when spec.nodes.storage.autoGrow.enabled is true',
  },
  {
    rule: '!has(self.autoGrow.maxSize) || quantity(self.autoGrow.maxSize).compareTo(quantity(self.size)) >= 0',
    message: 'spec.nodes.storage.autoGrow.maxSize must be spec.nodes.storage.size or more',
  },
  {
    rule: "quantity(self.autoGrow.increment).compareTo(quantity('1Mi')) >= 0",
    message: 'spec.nodes.storage.autoGrow.increment must be 1Mi or more',
  },
]

const storage = object(
  'The volume of each node.',
  {
    size: quantity(
      'How large the volume is. It may grow; it may go back only to status.largestCapacity.',
    ),
    storageClassName: optional(
      objectName(
        "The StorageClass of the volumes; absent: the Kubernetes cluster's default. Cannot be changed.",
      ),
    ),
    volumeAttributesClassName: optional(
      objectName('The VolumeAttributesClass of the volumes, such as one with more throughput.'),
    ),
    autoGrow: object(
      'Growth of the volumes without being asked.',
      {
        enabled: flag('Whether volumes grow when one of them is nearly full.', false),
        thresholdPercent: integer('How full one volume is, in percent, when all of them grow.', {
          min: 50,
          max: 95,
          default: 85,
        }),
        increment: quantity('By how much volumes grow at a time.', '10Gi'),
        maxSize: optional(quantity('How large volumes become at most.')),
      },
      { default: {} },
    ),
  },
  { rules: STORAGE_RULES },
)

export const nodePool = object('The nodes that store documents and answer queries.', {
  replicas: integer('How many nodes the cluster has; 1 in mode SingleNode.', {
    min: 1,
    max: NODES_MAX,
    default: 3,
  }),
  storage,
  resources: optional(resources('Processor time and memory of each node.')),
  affinity: optional(affinity('Where the pods of the nodes may run.')),
  podAntiAffinityPreset: choice(
    ['None', 'Preferred', 'Required'],
    'Whether the nodes run on different Kubernetes nodes: in no case, if possible, always. It is added to affinity.',
    'Preferred',
  ),
  nodeSelector: optional(
    map('Labels of the Kubernetes nodes on which the pods may run.', { valueMax: 63 }),
  ),
  tolerations: optional(tolerations('Taints of Kubernetes nodes that the pods tolerate.')),
  topologySpreadConstraints: optional(
    topologySpreadConstraints(
      'How evenly the pods are spread; absent or empty: over zones, by one pod, if possible.',
    ),
  ),
  priorityClassName: optional(objectName('The PriorityClass of the pods.')),
  schedulerName: optional(objectName('The scheduler of the pods; absent: the default one.')),
  terminationGracePeriodSeconds: integer(
    'How long a node may take to hand over its shards and stop.',
    { min: 10, max: GRACE_PERIOD_MAX_SECONDS, default: 120 },
  ),
  startupTimeoutSeconds: integer('How long a node may take to start before it is restarted.', {
    min: 10,
    max: STARTUP_TIMEOUT_MAX_SECONDS,
    default: 600,
  }),
  env: optional(env('Environment variables of the nodes.', [ownedVariablesRule('spec.nodes.env')])),
  envFrom: optional(envFrom('Environment variables of the nodes, from Secrets and ConfigMaps.')),
  podLabels: optional(
    labels('Further labels of the pods.', [ownedKeysRule('spec.nodes.podLabels')]),
  ),
  podAnnotations: optional(
    annotations('Further annotations of the pods.', [ownedKeysRule('spec.nodes.podAnnotations')]),
  ),
})
