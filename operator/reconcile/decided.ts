// What the builders of objects get: the cluster, and everything that follows from its status, from the objects that are
// there, and from how this operator was started. Pure.

import type { ClusterView } from '../machines/observed/cluster-view.ts'
import { hasManagedEtcd } from '../machines/pass/wanted.ts'
import type { EtcdView } from '../machines/observed/etcd-view.ts'
import type { SetView } from '../machines/observed/kubernetes-view.ts'
import { objectNames } from '../resources/parts/names.ts'
import { quantityBytes } from '../resources/parts/quantity.ts'
import type {
  ClusterInput,
  Decided,
  EtcdDecision,
  PoolDecision,
} from '../resources/parts/cluster-input.ts'
import { ETCD_IMAGE } from '../resources/etcd/etcd-image.ts'
import { ETCD_STORAGE_SIZE } from '../kinds/cluster/etcd.ts'
import { ETCD_MEMBERS } from '../resources/nodes/node-command.ts'

type Spec = ClusterView['spec']

/** How this operator was started. */
export interface OperatorDefaults {
  /** Its own version: clusters that are made now and name none get it. */
  readonly version: string
  /** Without a tag, which is the version of the cluster. */
  readonly nodeImage: string
  readonly inferenceImage: string
  /** With its tag. Empty: the one that this version was tested with. */
  readonly etcdImage: string
  readonly operatorNamespace: string
}

/** What was read beside the cluster. */
export interface ReadBeside {
  readonly nodeSet: SetView | undefined
  readonly etcdSet: SetView | undefined
  /** The image that the live set of etcd has kept for a spec that names none. */
  readonly keptEtcdImage: string | undefined
  readonly etcd: EtcdView | 'unreachable'
  readonly secrets: Pick<Decided, 'secretHash' | 'hasEtcdCertificate'> &
    Pick<EtcdDecision, 'authorityHash'>
  readonly hasPodMonitors: boolean
}

export function clusterInputOf(
  cluster: ClusterView,
  beside: ReadBeside,
  defaults: OperatorDefaults,
): ClusterInput {
  const { name, namespace, uid, spec, status } = cluster
  const { secrets, hasPodMonitors } = beside
  const etcd = hasManagedEtcd(spec) ? etcdDecision(cluster, beside) : undefined
  const decided: Decided = {
    ...versionAndImages(cluster, beside, defaults),
    nodes: poolDecision(beside.nodeSet, {
      replicas: onceStarted(status?.nodes?.desired) ?? spec.nodes.replicas,
      claimSize: claimSizeOf(cluster),
    }),
    ...(etcd === undefined ? {} : { etcd }),
    hasEtcdCertificate: secrets.hasEtcdCertificate,
    secretHash: secrets.secretHash,
    operatorNamespace: defaults.operatorNamespace,
    hasPodMonitors,
  }
  return { cluster: { name, namespace, uid, spec }, decided }
}

/**
 * A cluster that names no version keeps the one that it was made with, and its etcd the image that it has, until somebody
 * names another: a new operator restarts nobody.
 */
function versionAndImages(
  { spec, status }: ClusterView,
  { keptEtcdImage }: ReadBeside,
  { version: own, nodeImage, inferenceImage, etcdImage }: OperatorDefaults,
): Pick<Decided, 'version' | 'images'> {
  const version = spec.version ?? status?.targetVersion ?? own
  const defaultEtcd = etcdImage === '' ? ETCD_IMAGE : etcdImage
  return {
    version,
    images: {
      node: `${nodeImage}:${version}`,
      inference: `${inferenceImage}:${version}`,
      etcd: keptEtcdImage ?? defaultEtcd,
    },
  }
}

/** The size that every volume of a node is to have: that of the spec, or what they grew to by themselves. */
export function claimSizeOf({ spec, status }: ClusterView): string {
  const { size } = spec.nodes.storage
  const grown = status?.grownSize
  return grown !== undefined && quantityBytes(grown) > quantityBytes(size) ? grown : size
}

export function etcdClaimSizeOf({ etcd }: Spec): string {
  return etcd?.storage.size ?? ETCD_STORAGE_SIZE
}

/** Before its first start a pool has none of the pods that it will have, and what depends on their number is made for those. */
function onceStarted(desired: number | undefined): number | undefined {
  return desired === 0 ? undefined : desired
}

/** The decision that the live set shows. Steps that change the set carry their own. */
function poolDecision(
  set: SetView | undefined,
  wanted: { readonly replicas: number; readonly claimSize: string },
): PoolDecision {
  return {
    replicas: set?.replicas ?? wanted.replicas,
    partition: set?.partition ?? 0,
    claimSize: wanted.claimSize,
  }
}

function etcdDecision(cluster: ClusterView, { etcdSet, etcd, secrets }: ReadBeside): EtcdDecision {
  const { spec, status } = cluster
  const replicas = spec.etcd?.replicas ?? ETCD_MEMBERS
  // The quota of a member follows from its volume, which the template of a set keeps.
  const claimSize = etcdSet === undefined ? etcdClaimSizeOf(spec) : `${etcdSet.claimBytes}`
  const pool = poolDecision(etcdSet, {
    replicas: onceStarted(status?.etcd?.desired) ?? replicas,
    claimSize,
  })
  const isNew = isForming(cluster, etcd)
  const members = isNew ? ordinalsBelow(pool.replicas) : memberOrdinals(cluster, etcd)
  return {
    ...pool,
    state: isNew ? 'new' : 'existing',
    members,
    authorityHash: secrets.authorityHash,
  }
}

/** Nobody has seen a member yet. An empty volume of a cluster that has met must join it, and never form another one. */
function isForming({ status }: ClusterView, etcd: EtcdView | 'unreachable'): boolean {
  const isRecorded = (status?.etcd?.members ?? []).length > 0
  const isCreating = status?.operation === undefined || status.operation.type === 'Create'
  return !isRecorded && etcd === 'unreachable' && isCreating
}

/** The ordinals that etcd lists, or the recorded ones while etcd does not answer. */
function memberOrdinals(
  { name, status }: ClusterView,
  etcd: EtcdView | 'unreachable',
): readonly number[] {
  const listed = etcd === 'unreachable' ? (status?.etcd?.members ?? []) : etcd.members
  const start = `${objectNames(name).etcdSet}-`
  return listed
    .filter((member) => member.name.startsWith(start))
    .map((member) => Number(member.name.slice(start.length)))
    .toSorted((one, other) => one - other)
}

function ordinalsBelow(count: number): readonly number[] {
  return Array.from({ length: count }, (_, ordinal) => ordinal)
}
