import type { V1ObjectMeta } from '@kubernetes/client-node'
import { STORE_CLUSTER } from '../../kinds/cluster/store-cluster.ts'
import { sorted } from './built.ts'
import type { Built } from './built.ts'
import { objectLabels } from './names.ts'
import type { ClusterIdentity, Component } from './names.ts'

/** What differs in the metadata of objects. */
export interface MetadataOptions {
  readonly component?: Component
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  /** `kept`: the object outlives the cluster. */
  readonly life?: 'owned' | 'kept'
}

/** The metadata of an object that belongs to the cluster. */
export function metadataOf(
  cluster: ClusterIdentity,
  name: string,
  { component = 'node', labels = {}, annotations, life = 'owned' }: MetadataOptions = {},
) {
  return {
    name,
    namespace: cluster.namespace,
    labels: sorted({ ...labels, ...objectLabels(cluster.name, component) }),
    ...(annotations === undefined ? {} : { annotations: sorted(annotations) }),
    ...(life === 'kept' ? {} : { ownerReferences: [ownerReference(cluster)] }),
  } satisfies Built<V1ObjectMeta>
}

function ownerReference({ name, uid }: ClusterIdentity) {
  const { group, version, kind } = STORE_CLUSTER
  return {
    apiVersion: `${group}/${version}`,
    blockOwnerDeletion: true,
    controller: true,
    kind,
    name,
    uid,
  }
}
