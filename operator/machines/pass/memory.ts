// What the operator remembers of a cluster from one pass to the next. All of it is in the status of the StoreCluster.

import type {
  ClusterOperation,
  OperationPhase,
  OperationType,
} from '../../kinds/cluster/operation.ts'
import type { ClusterMember, EtcdMember, StoreClusterStatus } from '../../kinds/cluster/status.ts'

/** As it was read, and as it is to be written. */
export interface Memory {
  /** How many pods the set of the nodes was asked to have last. 0 until the cluster is created. */
  readonly replicas: number
  /** As `replicas`, of etcd. */
  readonly etcdReplicas: number
  readonly isHibernated: boolean
  readonly members: readonly Member[]
  readonly etcdMembers: readonly EtcdMemberRecord[]
  /** As a quantity: what volumes grew to by themselves, if that is more than the spec asks for. */
  readonly grownSize?: string
  /** ISO 8601: when they last did. */
  readonly lastGrownAt?: string
  /** The one operation in flight. What a step needs was written here by an earlier pass. */
  readonly operation?: ClusterOperation
}

/** Which node has which volume: known also while its pod is away. */
export interface Member {
  readonly podName: string
  readonly ordinal: number
  readonly nodeID: string
  readonly claimUID: string
  /** Nodes whose volumes at this ordinal are gone, until the store has forgotten them. */
  readonly formerNodeIDs: readonly string[]
}

/** Which member of etcd has which volume. */
export interface EtcdMemberRecord {
  readonly name: string
  readonly id: string
  readonly claimUID: string
}

export function memoryOf(status: StoreClusterStatus | undefined): Memory {
  if (status === undefined) return NOTHING
  const { nodes, etcd, members, operation, grownSize, lastGrownAt } = status
  return {
    replicas: nodes?.desired ?? 0,
    etcdReplicas: etcd?.desired ?? 0,
    isHibernated: isHibernated(status),
    members: (members ?? []).flatMap(memberOf),
    etcdMembers: (etcd?.members ?? []).flatMap(etcdMemberOf),
    ...(grownSize === undefined ? {} : { grownSize }),
    ...(lastGrownAt === undefined ? {} : { lastGrownAt }),
    ...(operation === undefined ? {} : { operation }),
  }
}

const NOTHING: Memory = {
  replicas: 0,
  etcdReplicas: 0,
  isHibernated: false,
  members: [],
  etcdMembers: [],
}

function isHibernated({ conditions }: StoreClusterStatus): boolean {
  const condition = conditions?.find(({ type }) => type === 'Hibernated')
  return condition?.status === 'True'
}

function memberOf({ podName, ordinal, nodeID, claimUID, formerNodeIDs }: ClusterMember): Member[] {
  if (nodeID === undefined || claimUID === undefined) return []
  return [{ podName, ordinal, nodeID, claimUID, formerNodeIDs: formerNodeIDs ?? [] }]
}

function etcdMemberOf({ name, id, claimUID }: EtcdMember): EtcdMemberRecord[] {
  return id === undefined || claimUID === undefined ? [] : [{ name, id, claimUID }]
}

/** When an operation begins, and for which cluster. */
export interface Beginning {
  readonly nowMs: number
  readonly cluster: { readonly uid: string; readonly generation: number }
}

/** No operation of people has an id that begins so. A store belongs to one cluster. */
const OWN_OPERATIONS = 'quarry-operator.'

/** Whether an operator has begun the operation, also one for an earlier cluster of the name. */
export function isOwnOperation(id: string): boolean {
  return id.startsWith(OWN_OPERATIONS)
}

/** An id that says who has begun the operation. `what` is unique among those of the cluster. */
export function operationID(clusterUID: string, what: string): string {
  return `${OWN_OPERATIONS}${clusterUID}.${what}`
}

export function beginOperation(
  type: OperationType,
  phase: OperationPhase,
  { nowMs, cluster }: Beginning,
): ClusterOperation {
  const now = isoTime(nowMs)
  return {
    type,
    id: operationID(cluster.uid, nowMs.toString(36)),
    phase,
    generation: cluster.generation,
    startedAt: now,
    stepStartedAt: now,
    lastProgressAt: now,
    attempts: 0,
  }
}

/** The operation in another phase; unchanged if it is in this one already. */
export function inPhase(
  operation: ClusterOperation,
  phase: OperationPhase,
  nowMs: number,
): ClusterOperation {
  if (operation.phase === phase) return operation
  const { gateOpenSince: _, ...rest } = operation
  const now = isoTime(nowMs)
  return { ...rest, phase, stepStartedAt: now, lastProgressAt: now }
}

/** How long the operation has been in its phase. */
export function phaseAgeMs(operation: ClusterOperation, nowMs: number): number {
  return sinceMs(operation.stepStartedAt ?? operation.startedAt, nowMs)
}

/** 0 for a time that lies in the future or cannot be read. */
export function sinceMs(iso: string, nowMs: number): number {
  const at = Date.parse(iso)
  return Number.isNaN(at) ? 0 : Math.max(0, nowMs - at)
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
