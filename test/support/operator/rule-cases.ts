// For each rule of a StoreCluster an object that it accepts and one that it refuses, by the rule's message. Specs are
// merged into the smallest one, `{nodes: {storage: {size: 10Gi}}}`.

import {
  OWNED_INFERENCE_OPTIONS,
  OWNED_NODE_OPTIONS,
} from '../../../operator/kinds/cluster/owned-names.ts'

export type Json = Readonly<Record<string, unknown>>

/** One object as people write it. */
export interface Written {
  readonly name?: string
  readonly spec?: Json
}

export interface RuleCase {
  /** What is stored before, for rules that compare with the past. */
  readonly from?: Written & { readonly status?: Json }
  readonly accepted: Written
  readonly refused: Written
}

const DISTRIBUTED = { nodes: { replicas: 3 } }
const SINGLE = { mode: 'SingleNode', nodes: { replicas: 1 } }
const EXTERNAL = { mode: 'External', endpoints: ['https://etcd.example:2379'] }

const spec = (value: Json): Written => ({ spec: value })
const etcd = (value: Json): Written => spec({ etcd: value })
const storage = (value: Json): Written => spec({ nodes: { storage: value } })
const autoGrow = (value: Json): Written => storage({ autoGrow: value })
const inference = (value: Json): Written => spec({ inference: value })
const volume = (value: Json): Written =>
  inference({ models: [{ name: 'acme/minilm' }], modelVolume: value })
const service = (value: Json): Written => spec({ clientService: value })

/** Prefixes of names that belong to the operator, in one field. */
const ownedKeys = (written: (value: Json) => Written): RuleCase => ({
  accepted: written({ 'example.org/team': 'a' }),
  refused: written({ 'app.kubernetes.io/name': 'a' }),
})

const OWNED_KEYS_FIELDS: Readonly<Record<string, (value: Json) => Written>> = {
  'spec.nodes.podLabels': (value) => spec({ nodes: { podLabels: value } }),
  'spec.nodes.podAnnotations': (value) => spec({ nodes: { podAnnotations: value } }),
  'spec.clientService.annotations': (value) => service({ annotations: value }),
  'spec.clientService.labels': (value) => service({ labels: value }),
  'spec.monitoring.podMonitor.labels': (value) =>
    spec({ monitoring: { podMonitor: { labels: value } } }),
  'spec.serviceAccount.annotations': (value) => spec({ serviceAccount: { annotations: value } }),
}

const ownedOptions = (
  field: string,
  options: Readonly<Record<string, string>>,
  written: (config: Json) => Written,
): readonly (readonly [string, RuleCase])[] =>
  Object.entries(options).map(([option, instead]) => [
    `${field}.${option} cannot be set: it ${instead}`,
    {
      accepted: written({ another_option: true, nested: { a: [1.5] } }),
      refused: written({ [option]: 'x' }),
    },
  ])

export const RULE_CASES: Readonly<Record<string, RuleCase>> = {
  'metadata.name must have at most 40 characters: names of other objects are made of it': {
    accepted: { name: 'a'.repeat(40) },
    refused: { name: 'a'.repeat(41) },
  },
  'metadata.name must begin with a letter and have only small letters, digits and hyphens: Services are named after it':
    { accepted: { name: 'a-1' }, refused: { name: 'a.b' } },
  'spec.nodes.storage.size cannot become less, except down to status.largestCapacity: volumes do not shrink':
    {
      from: { ...storage({ size: '20Gi' }), status: { largestCapacity: '10Gi' } },
      accepted: storage({ size: '10Gi' }),
      refused: storage({ size: '9Gi' }),
    },

  'spec.mode cannot be changed: make another cluster': {
    from: spec({ ...DISTRIBUTED, nodes: { replicas: 1 } }),
    accepted: spec({ mode: 'Distributed', nodes: { replicas: 1 } }),
    refused: spec(SINGLE),
  },
  'spec.nodes.replicas must be 1 when spec.mode is SingleNode (it is 3 if it is absent)': {
    accepted: spec(SINGLE),
    refused: spec({ mode: 'SingleNode' }),
  },
  'spec.etcd can be set only when spec.mode is Distributed': {
    accepted: etcd({}),
    refused: spec({ ...SINGLE, etcd: {} }),
  },
  'spec.etcd.mode cannot be changed (it is Managed if it is absent)': {
    from: spec({}),
    accepted: etcd({ mode: 'Managed' }),
    refused: etcd(EXTERNAL),
  },
  'spec.etcd.storage.size cannot become less (it is 2Gi if it is absent)': {
    from: etcd({ storage: { size: '4Gi' } }),
    accepted: etcd({ storage: { size: '4096Mi' } }),
    refused: spec({}),
  },
  'spec.etcd.storage.storageClassName cannot be changed, added or removed: claims keep the class that they were made with':
    {
      from: etcd({ storage: { storageClassName: 'fast' } }),
      accepted: etcd({ storage: { storageClassName: 'fast', size: '3Gi' } }),
      refused: spec({}),
    },
  'spec.serviceAccount.name cannot be changed, added or removed': {
    from: spec({}),
    accepted: spec({ serviceAccount: { annotations: { 'example.org/role': 'a' } } }),
    refused: spec({ serviceAccount: { name: 'mine' } }),
  },
  'spec.hibernate cannot be true while spec.persistentVolumeClaimRetentionPolicy.whenScaled is Delete: its volumes must outlive its pods':
    {
      accepted: spec({ hibernate: true }),
      refused: spec({
        hibernate: true,
        persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
      }),
    },
  'spec.restartedAt cannot be removed or become earlier': {
    from: spec({ restartedAt: '2026-01-02T00:00:00Z' }),
    // The same moment in another zone, and a later one by a minute.
    accepted: spec({ restartedAt: '2026-01-02T01:01:00+01:00' }),
    refused: spec({ restartedAt: '2026-01-02T00:59:00+01:00' }),
  },

  'spec.nodes.storage.storageClassName cannot be changed, added or removed: claims keep the class that they were made with':
    {
      from: storage({ storageClassName: 'fast' }),
      accepted: storage({ storageClassName: 'fast', size: '11Gi' }),
      refused: storage({ storageClassName: 'slow' }),
    },
  'spec.nodes.storage.size must be 1Mi or more': {
    accepted: storage({ size: '1Mi' }),
    refused: storage({ size: '1023Ki' }),
  },
  'spec.nodes.storage.autoGrow.maxSize must be set when spec.nodes.storage.autoGrow.enabled is true':
    {
      accepted: autoGrow({ enabled: true, maxSize: '20Gi' }),
      refused: autoGrow({ enabled: true }),
    },
  'spec.nodes.storage.autoGrow.maxSize must be spec.nodes.storage.size or more': {
    accepted: autoGrow({ maxSize: '10240Mi' }),
    refused: autoGrow({ maxSize: '10G' }),
  },
  'spec.nodes.storage.autoGrow.increment must be 1Mi or more': {
    accepted: autoGrow({ increment: '1Gi' }),
    refused: autoGrow({ increment: '0' }),
  },
  'spec.nodes.env cannot have names that begin with QUARRY_ or POD_, which belong to the operator; options of the node are written to spec.config':
    {
      accepted: spec({ nodes: { env: [{ name: 'AWS_REGION', value: 'a' }] } }),
      refused: spec({ nodes: { env: [{ name: 'QUARRY_LOG_LEVEL', value: 'debug' }] } }),
    },

  'spec.etcd.endpoints must name the members when spec.etcd.mode is External': {
    accepted: etcd(EXTERNAL),
    refused: etcd({ mode: 'External' }),
  },
  'spec.etcd.endpoints can be set only when spec.etcd.mode is External': {
    accepted: etcd(EXTERNAL),
    refused: etcd({ ...EXTERNAL, mode: 'Managed' }),
  },
  'spec.etcd.tlsSecretRef can be set only when spec.etcd.mode is External; the operator makes the certificates of a managed etcd':
    {
      accepted: etcd({ ...EXTERNAL, tlsSecretRef: { name: 'a' } }),
      refused: etcd({ tlsSecretRef: { name: 'a' } }),
    },
  'spec.etcd.credentialsSecretRef can be set only when spec.etcd.mode is External': {
    accepted: etcd({ ...EXTERNAL, credentialsSecretRef: { name: 'a' } }),
    refused: etcd({ credentialsSecretRef: { name: 'a' } }),
  },
  'spec.etcd.endpoints must begin with https:// when spec.etcd.tlsSecretRef is set': {
    accepted: etcd({ mode: 'External', endpoints: ['http://etcd:2379'] }),
    refused: etcd({
      mode: 'External',
      endpoints: ['https://a:2379', 'http://b:2379'],
      tlsSecretRef: { name: 'a' },
    }),
  },
  'spec.etcd.image can be set only when spec.etcd.mode is Managed': {
    accepted: etcd({ image: 'etcd:1' }),
    refused: etcd({ ...EXTERNAL, image: 'etcd:1' }),
  },
  'spec.etcd.resources can be set only when spec.etcd.mode is Managed': {
    accepted: etcd({ resources: { requests: { cpu: 1 } } }),
    refused: etcd({ ...EXTERNAL, resources: {} }),
  },

  'spec.inference.externalURL can be set only when spec.inference.enabled is false: nodes ask one server':
    {
      accepted: inference({ enabled: false, externalURL: 'http://models:8082' }),
      refused: inference({ externalURL: 'http://models:8082' }),
    },
  'spec.inference.modelVolume must say where models are kept when spec.inference.models has some: GeneratedClaim keeps them, EmptyDir downloads them again for each new pod':
    {
      accepted: volume({ type: 'EmptyDir' }),
      refused: inference({ models: [{ name: 'acme/minilm' }] }),
    },
  'spec.inference.modelVolume.claimName must be set when spec.inference.modelVolume.type is ExistingClaim':
    {
      accepted: volume({ type: 'ExistingClaim', claimName: 'models' }),
      refused: volume({ type: 'ExistingClaim' }),
    },
  'spec.inference.modelVolume.claimName can be set only when spec.inference.modelVolume.type is ExistingClaim':
    {
      accepted: volume({ type: 'ExistingClaim', claimName: 'models' }),
      refused: volume({ type: 'EmptyDir', claimName: 'models' }),
    },
  'spec.inference.modelVolume.size must be set when spec.inference.modelVolume.type is GeneratedClaim':
    {
      accepted: volume({ type: 'GeneratedClaim', size: '1Gi' }),
      refused: volume({ type: 'GeneratedClaim' }),
    },
  'spec.inference.modelVolume.storageClassName can be set only when spec.inference.modelVolume.type is GeneratedClaim':
    {
      accepted: volume({ type: 'GeneratedClaim', size: '1Gi', storageClassName: 'fast' }),
      refused: volume({ type: 'EmptyDir', storageClassName: 'fast' }),
    },

  'spec.clientService.loadBalancerClass can be set only when spec.clientService.type is LoadBalancer':
    {
      accepted: service({ type: 'LoadBalancer', loadBalancerClass: 'example.org/inner' }),
      refused: service({ loadBalancerClass: 'example.org/inner' }),
    },
  'spec.clientService.loadBalancerSourceRanges can be set only when spec.clientService.type is LoadBalancer':
    {
      accepted: service({ type: 'LoadBalancer', loadBalancerSourceRanges: ['192.0.2.0/24'] }),
      refused: service({ type: 'NodePort', loadBalancerSourceRanges: ['192.0.2.0/24'] }),
    },
  'spec.serviceAccount has either a name or annotations: the operator does not annotate what it did not make':
    {
      accepted: spec({ serviceAccount: { name: 'mine' } }),
      refused: spec({ serviceAccount: { name: 'mine', annotations: { a: 'b' } } }),
    },

  ...Object.fromEntries(
    Object.entries(OWNED_KEYS_FIELDS).map(([field, written]) => [
      `${field} cannot have names that begin with app.kubernetes.io/ or quarry.dev/, which belong to the operator`,
      ownedKeys(written),
    ]),
  ),
  ...Object.fromEntries([
    ...ownedOptions('spec.config', OWNED_NODE_OPTIONS, (config) => spec({ config })),
    ...ownedOptions('spec.inference.config', OWNED_INFERENCE_OPTIONS, (config) =>
      inference({ config }),
    ),
  ]),
}

/** Changes of optional fields, by appearing and disappearing, that must not pass. */
export const FROZEN_CASES: Readonly<Record<string, RuleCase>> = {
  'the class of volumes is added': {
    from: spec({}),
    accepted: spec({}),
    refused: storage({ storageClassName: 'fast' }),
  },
  'the class of volumes is removed': {
    from: storage({ storageClassName: 'fast' }),
    accepted: storage({ storageClassName: 'fast' }),
    refused: spec({}),
  },
  'the class of volumes of etcd is added with etcd': {
    from: spec({}),
    accepted: etcd({}),
    refused: etcd({ storage: { storageClassName: 'fast' } }),
  },
  'etcd becomes external by being removed and added': {
    from: etcd({ mode: 'Managed' }),
    accepted: spec({}),
    refused: etcd(EXTERNAL),
  },
  'an external etcd disappears': {
    from: etcd(EXTERNAL),
    accepted: etcd({ ...EXTERNAL, endpoints: ['https://b:2379'] }),
    refused: spec({}),
  },
  'a smaller etcd appears': {
    from: spec({}),
    accepted: etcd({ storage: { size: '2Gi' } }),
    refused: etcd({ storage: { size: '1Gi' } }),
  },
  'the account is removed': {
    from: spec({ serviceAccount: { name: 'mine' } }),
    accepted: spec({ serviceAccount: { name: 'mine' } }),
    refused: spec({}),
  },
  'the time of the last restart is removed': {
    from: spec({ restartedAt: '2026-01-02T00:00:00Z' }),
    accepted: spec({ restartedAt: '2026-01-02T00:00:00Z' }),
    refused: spec({}),
  },
  'volumes shrink while nothing is known of them': {
    from: storage({ size: '20Gi' }),
    accepted: storage({ size: '20Gi' }),
    refused: storage({ size: '19Gi' }),
  },
}
