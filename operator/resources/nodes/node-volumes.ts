// The volumes of a node's pod, and where its containers see them.

import type { V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import type { InferenceSpec, StoreClusterSpec } from '../../kinds/cluster/spec.ts'
import { present } from '../parts/built.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { objectNames } from '../parts/names.ts'
import { ETCD_FILES, PATHS, VOLUMES } from './node-paths.ts'

/** The group of the pod may read, and nobody else. */
const GROUP_READS = 0o440

/** The volumes of a pod, without those of claim templates. */
export function nodeVolumes(input: ClusterInput): readonly Built<V1Volume>[] {
  const { name, spec } = input.cluster
  const names = objectNames(name)
  return [
    { name: VOLUMES.config, configMap: { defaultMode: GROUP_READS, name: names.config } },
    { name: VOLUMES.temporary, emptyDir: {} },
    ...(spec.mode === 'SingleNode' ? [] : memberVolumes(input)),
    ...(spec.secretStoreRef === undefined
      ? []
      : [secretVolume(VOLUMES.secrets, spec.secretStoreRef.name)]),
    ...(hasFiles(spec) ? [filesVolume(spec)] : []),
    ...inferenceVolumes(spec),
  ]
}

function memberVolumes({
  cluster: { name, spec },
  decided,
}: ClusterInput): readonly Built<V1Volume>[] {
  const { etcd } = spec
  const names = objectNames(name)
  const secret = secretVolume(VOLUMES.clusterSecret, names.secret)
  if (etcd?.mode !== 'External') {
    const files = [
      { key: 'ca.crt', path: ETCD_FILES.authority },
      { key: 'client.crt', path: ETCD_FILES.certificate },
      { key: 'client.key', path: ETCD_FILES.key },
    ]
    return [secret, secretVolume(VOLUMES.etcd, names.etcdCertificates, files)]
  }
  const keys = decided.hasEtcdCertificate ? Object.values(ETCD_FILES) : [ETCD_FILES.authority]
  const files = keys.map((key) => ({ key, path: key }))
  return [
    secret,
    ...(etcd.tlsSecretRef === undefined
      ? []
      : [secretVolume(VOLUMES.etcd, etcd.tlsSecretRef.name, files)]),
    ...(etcd.credentialsSecretRef === undefined
      ? []
      : [secretVolume(VOLUMES.etcdCredentials, etcd.credentialsSecretRef.name)]),
  ]
}

function secretVolume(
  name: string,
  secretName: string,
  items?: readonly { readonly key: string; readonly path: string }[],
): Built<V1Volume> {
  return { name, secret: { defaultMode: GROUP_READS, secretName, ...present({ items }) } }
}

function hasFiles({ configSecretRefs = [] }: StoreClusterSpec): boolean {
  return configSecretRefs.length > 0
}

function filesVolume({ configSecretRefs = [] }: StoreClusterSpec): Built<V1Volume> {
  const sources = configSecretRefs.map(({ name, key, path }) => ({
    secret: { items: [{ key, path }], name },
  }))
  return { name: VOLUMES.files, projected: { defaultMode: GROUP_READS, sources } }
}

function inferenceVolumes({ inference }: StoreClusterSpec): readonly Built<V1Volume>[] {
  if (!inference.enabled) return []
  return [{ name: VOLUMES.inferenceTemporary, emptyDir: {} }, ...modelVolume(inference)]
}

/** None for a claim of the set, which is a volume by itself. */
function modelVolume({ modelVolume: volume }: InferenceSpec): readonly Built<V1Volume>[] {
  const { type = 'EmptyDir', claimName = '', size } = volume ?? {}
  if (type === 'GeneratedClaim') return []
  return type === 'ExistingClaim'
    ? [{ name: VOLUMES.models, persistentVolumeClaim: { claimName } }]
    : [{ name: VOLUMES.models, emptyDir: present({ sizeLimit: size }) }]
}

/** What the container of the node sees. */
export function nodeMounts({ cluster: { spec } }: ClusterInput): readonly Built<V1VolumeMount>[] {
  const { etcd } = spec
  const isMember = spec.mode !== 'SingleNode'
  const hasEtcdFiles = etcd?.mode !== 'External' || etcd.tlsSecretRef !== undefined
  return [
    { mountPath: PATHS.dataVolume, name: VOLUMES.data },
    { mountPath: PATHS.temporary, name: VOLUMES.temporary },
    readOnly(VOLUMES.config, PATHS.config),
    ...(isMember ? [readOnly(VOLUMES.clusterSecret, PATHS.clusterSecret)] : []),
    ...(isMember && hasEtcdFiles ? [readOnly(VOLUMES.etcd, PATHS.etcd)] : []),
    ...(etcd?.credentialsSecretRef === undefined
      ? []
      : [readOnly(VOLUMES.etcdCredentials, PATHS.etcdCredentials)]),
    ...(spec.secretStoreRef === undefined ? [] : [readOnly(VOLUMES.secrets, PATHS.secrets)]),
    ...(hasFiles(spec) ? [readOnly(VOLUMES.files, PATHS.files)] : []),
  ]
}

/** What the containers of the inference server see. Its temporary files are apart from those of the node. */
export function inferenceMounts(): readonly Built<V1VolumeMount>[] {
  return [
    { mountPath: PATHS.models, name: VOLUMES.models },
    { mountPath: PATHS.temporary, name: VOLUMES.inferenceTemporary },
    readOnly(VOLUMES.config, PATHS.config),
  ]
}

function readOnly(name: string, mountPath: string): Built<V1VolumeMount> {
  return { mountPath, name, readOnly: true }
}
