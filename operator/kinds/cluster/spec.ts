// What people write: the spec of a StoreCluster.

import { annotations, choice, flag, keyed, object, optional, text, time } from '../schema/fields.ts'
import type { Rule, Stored } from '../schema/fields.ts'
import { containerSecurityContext, podSecurityContext } from '../core/containers.ts'
import { objectName, reference, secretKey } from '../core/names.ts'
import {
  claimRetention,
  podDisruptionBudget,
  scaleDown,
  scaleUp,
  updateStrategy,
} from './change-policies.ts'
import { etcd } from './etcd.ts'
import { clientService, monitoring, networkPolicy } from './exposure.ts'
import { inference } from './inference.ts'
import { nodePool } from './node-pool.ts'
import { openOptions } from './open-options.ts'
import { ownedKeysRule, OWNED_NODE_OPTIONS } from './owned-names.ts'
import { SPEC_RULES } from './spec-rules.ts'

const VERSION = String.raw`^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]+)?$`
const PULL_SECRETS_MAX = 8
const CONFIG_SECRETS_MAX = 16
const FILE_PATH = String.raw`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`

const SERVICE_ACCOUNT_RULES: readonly Rule[] = [
  {
    rule: '!has(self.name) || !has(self.annotations)',
    message:
      'spec.serviceAccount has either a name or annotations: the operator does not annotate what it did not make',
  },
]

const serviceAccount = object(
  'The ServiceAccount of the pods. They get no token of it.',
  {
    name: optional(
      objectName('A ServiceAccount that exists; absent: one is made. Cannot be changed.'),
    ),
    annotations: optional(
      annotations(
        'Annotations of the ServiceAccount that is made, such as an identity elsewhere.',
        [ownedKeysRule('spec.serviceAccount.annotations')],
      ),
    ),
  },
  { rules: SERVICE_ACCOUNT_RULES, default: {} },
)

const configSecretRef = object('One file.', {
  name: objectName('The Secret, in the same namespace.'),
  key: secretKey('The key of the Secret whose value is the content of the file.'),
  path: text('The path of the file below /etc/quarry/files.', {
    max: 253,
    min: 1,
    pattern: FILE_PATH,
  }),
})

export const spec = object(
  'What the cluster is to be.',
  {
    mode: choice(
      ['Distributed', 'SingleNode'],
      'Whether the cluster has several nodes and etcd, or is one node without. Cannot be changed.',
      'Distributed',
    ),
    version: optional(
      text(
        'The version of Quarry, such as 1.2.3; absent: that of the operator which made the cluster. One minor version up at a time.',
        { max: 40, min: 5, pattern: VERSION },
      ),
    ),
    image: optional(
      text('The image of the nodes; absent: the one of the version.', { max: 512, min: 1 }),
    ),
    imagePullPolicy: choice(
      ['IfNotPresent', 'Always', 'Never'],
      'When images are pulled.',
      'IfNotPresent',
    ),
    imagePullSecrets: optional(
      keyed('Secrets for pulling images.', reference('One Secret.'), {
        max: PULL_SECRETS_MAX,
        keys: ['name'],
      }),
    ),
    nodes: nodePool,
    etcd: optional(etcd),
    inference,
    config: optional(
      openOptions('spec.config', {
        description: 'Options of the nodes, as in their configuration file.',
        owned: OWNED_NODE_OPTIONS,
      }),
    ),
    configSecretRefs: optional(
      keyed('Keys of Secrets as files of the nodes, such as credentials.', configSecretRef, {
        max: CONFIG_SECRETS_MAX,
        keys: ['path'],
      }),
    ),
    secretStoreRef: optional(
      reference(
        'A Secret, each key of which is a secret that configurations name as ${secret:KEY}.',
      ),
    ),
    clientService,
    networkPolicy,
    podDisruptionBudget,
    updateStrategy,
    scaleDown,
    scaleUp,
    hibernate: flag(
      'Whether the cluster sleeps: its pods are removed, and its volumes are kept.',
      false,
    ),
    restartedAt: optional(time('A later time than before restarts all nodes, one after another.')),
    persistentVolumeClaimRetentionPolicy: claimRetention,
    deletionProtection: flag('Whether the object cannot be deleted.', false),
    monitoring,
    serviceAccount,
    podSecurityContext: optional(
      podSecurityContext('What the pods may do; its fields replace those of the restricted level.'),
    ),
    containerSecurityContext: optional(
      containerSecurityContext(
        'What the containers may do; its fields replace those of the restricted level.',
      ),
    ),
    logLevel: choice(['Debug', 'Info', 'Warn', 'Error'], 'How much the servers log.', 'Info'),
  },
  { rules: SPEC_RULES },
)

export type StoreClusterSpec = Stored<typeof spec>
export type NodePool = StoreClusterSpec['nodes']
export type EtcdSpec = Stored<typeof etcd>
export type InferenceSpec = StoreClusterSpec['inference']
