// Annotations: those by which people steer the operator, and those that it writes.

import { STORE_CLUSTER_ANNOTATIONS } from '../kinds/cluster/store-cluster.ts'
import { ANNOTATIONS } from '../resources/parts/names.ts'

/** What people are told about an override. */
interface OverrideAdvice {
  readonly value: string
  readonly does: string
  /** When it is right to use it, and what it costs. */
  readonly use: string
}

const OVERRIDES: Readonly<Record<keyof typeof STORE_CLUSTER_ANNOTATIONS, OverrideAdvice>> = {
  paused: {
    value: '`true`',
    does: 'the operator changes nothing, and still writes the status',
    use: 'while people work on the objects of the cluster by hand; nothing is repaired meanwhile',
  },
  allowDowngrade: {
    value: '`true`',
    does: 'spec.version may go to a lower minor version',
    use: 'after UPGRADING.md was read: an older version may not read what a newer one has written',
  },
  forceDrainOrdinal: {
    value: 'an ordinal, such as `4`',
    does: 'a scale-down takes the node with this number away although it does not answer',
    use: 'when its disk is gone for good; the store still refuses while a shard would lose its last copy',
  },
  skipHealthGate: {
    value: '`true`',
    does: 'restarts do not wait until the cluster is healthy',
    use: 'when the new template is what mends the cluster; documents may be unavailable meanwhile',
  },
}

const WRITTEN: Readonly<Record<keyof typeof ANNOTATIONS, string>> = {
  configHash: 'pods: the options that a node was started with',
  secretHash: 'pods: the Secrets that a container was started with',
  restartedAt: 'pods: the spec.restartedAt that they were made for',
  templateDigest: 'pods: all that the spec says of them; a change of it restarts pods',
  version: 'pods: the version that they run',
  clusterUID: 'claims: the cluster that uses the volume',
  defaultImage:
    "etcd's StatefulSet: the image that its members keep while the spec names none, also under a later operator",
  drained:
    'claims: the mark of a node that was emptied and taken out of the cluster for good, with the moment, the cluster, the node and the operation',
}

/** Annotation, value, what it does, and when to use it. */
export function overrideRows(): readonly (readonly string[])[] {
  return Object.entries(OVERRIDES).map(([key, { value, does, use }]) => [
    `\`${nameIn(STORE_CLUSTER_ANNOTATIONS, key)}\``,
    value,
    does,
    use,
  ])
}

/** Annotation, and what it tells. */
export function writtenRows(): readonly (readonly string[])[] {
  return Object.entries(WRITTEN).map(([key, means]) => [`\`${nameIn(ANNOTATIONS, key)}\``, means])
}

function nameIn(names: Readonly<Record<string, string>>, key: string): string {
  return names[key] ?? key
}
