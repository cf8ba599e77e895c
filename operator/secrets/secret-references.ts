// Which Secrets a spec names, where it names them, and when their content is read.
//
//   variables of nodes, files of spec.configSecretRefs   at the start of a node
//   spec.secretStoreRef                                  at each use
//   certificates and password of an external etcd        at the start, and whenever a node is asked to load them again
//   spec.imagePullSecrets                                by the kubelet, at each pull

import type { StoreClusterSpec } from '../kinds/cluster/spec.ts'
import { ETCD_CREDENTIALS, ETCD_FILES } from '../resources/nodes/node-paths.ts'

/** One place of a spec that names a Secret. */
export interface SecretReference {
  /** The path of the field, as people write it. */
  readonly field: string
  readonly name: string
  /** Whether pods start although it is missing. */
  readonly isOptional: boolean
  /** Each list needs one of its keys to exist. */
  readonly keys: readonly (readonly string[])[]
  /** The keys that nodes read only at their start. */
  readonly atStart: 'all' | readonly string[]
}

const PULL_KEYS = ['.dockerconfigjson', '.dockercfg']

export function secretReferences(spec: StoreClusterSpec): readonly SecretReference[] {
  return [
    ...pulls(spec),
    ...variables(spec),
    ...etcdReferences(spec),
    ...files(spec),
    ...(spec.secretStoreRef === undefined
      ? []
      : [reference('spec.secretStoreRef', spec.secretStoreRef.name)]),
  ]
}

function reference(
  field: string,
  name: string,
  more: Partial<SecretReference> = {},
): SecretReference {
  return { field, name, isOptional: false, keys: [], atStart: [], ...more }
}

function pulls({ imagePullSecrets = [] }: StoreClusterSpec): readonly SecretReference[] {
  return imagePullSecrets.map(({ name }, at) =>
    reference(`spec.imagePullSecrets[${at}]`, name, { keys: [PULL_KEYS] }),
  )
}

function variables({ nodes }: StoreClusterSpec): readonly SecretReference[] {
  const single = (nodes.env ?? []).flatMap(({ valueFrom }, at) => {
    const source = valueFrom?.secretKeyRef
    if (source === undefined) return []
    const { name, key, optional: isOptional = false } = source
    const field = `spec.nodes.env[${at}].valueFrom.secretKeyRef`
    return [reference(field, name, { isOptional, keys: [[key]], atStart: [key] })]
  })
  const whole = (nodes.envFrom ?? []).flatMap(({ secretRef }, at) => {
    if (secretRef === undefined) return []
    const { name, optional: isOptional = false } = secretRef
    return [reference(`spec.nodes.envFrom[${at}].secretRef`, name, { isOptional, atStart: 'all' })]
  })
  return [...single, ...whole]
}

/** A managed etcd has no Secrets but the operator's own. */
function etcdReferences({ etcd }: StoreClusterSpec): readonly SecretReference[] {
  if (etcd?.mode !== 'External') return []
  const { tlsSecretRef: tls, credentialsSecretRef: credentials } = etcd
  const { user, password } = ETCD_CREDENTIALS
  return [
    ...(tls === undefined
      ? []
      : [reference('spec.etcd.tlsSecretRef', tls.name, { keys: [[ETCD_FILES.authority]] })]),
    ...(credentials === undefined
      ? []
      : [
          reference('spec.etcd.credentialsSecretRef', credentials.name, {
            keys: [[user], [password]],
            // The name is a variable of the node, and the password a file.
            atStart: [user],
          }),
        ]),
  ]
}

function files({ configSecretRefs = [] }: StoreClusterSpec): readonly SecretReference[] {
  return configSecretRefs.map(({ name, key }, at) =>
    reference(`spec.configSecretRefs[${at}]`, name, { keys: [[key]], atStart: [key] }),
  )
}
