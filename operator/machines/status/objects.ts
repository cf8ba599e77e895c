// The parts of the status that list things: nodes, volumes, members of etcd.

import type {
  ClusterMember,
  ClusterVolume,
  EtcdMember,
  EtcdStatus,
} from '../../kinds/cluster/status.ts'
import type { Member } from '../pass/memory.ts'
import { nodeWithID, podAt, podNameOf } from '../pass/pass.ts'
import type { Pass } from '../pass/pass.ts'
import type { ClaimView } from '../observed/kubernetes-view.ts'
import { bytesText } from '../pass/bytes-text.ts'

/** What is counted finer would be written again and again while nothing happens. */
const USED_PERCENT_STEP = 5
const DB_BYTES_STEP = 16 * 1024 * 1024

/** Nodes that are remembered, also those whose pods are away, and pods whose nodes have not joined yet. */
export function membersOf(pass: Pass): ClusterMember[] {
  const { memory, observed } = pass
  const recorded = memory.members.map((member) => memberOf(pass, member))
  const known = new Set(memory.members.map(({ ordinal }) => ordinal))
  const others = observed.nodes.pods
    .filter(({ ordinal }) => !known.has(ordinal))
    .map(({ ordinal, uid, isReady }) => ({
      podName: podNameOf(pass, ordinal),
      ordinal,
      podUID: uid,
      ready: isReady,
    }))
  return [...recorded, ...others].toSorted((one, other) => one.ordinal - other.ordinal)
}

function memberOf(pass: Pass, member: Member): ClusterMember {
  const { podName, ordinal, nodeID, claimUID, formerNodeIDs } = member
  const pod = podAt(pass.observed.nodes, ordinal)
  return {
    podName,
    ordinal,
    nodeID,
    claimUID,
    ...(formerNodeIDs.length === 0 ? {} : { formerNodeIDs: [...formerNodeIDs] }),
    ...(pod === undefined ? {} : { podUID: pod.uid, revision: pod.revision }),
    ...(pod?.inference === undefined ? {} : { inferenceReady: pod.inference.state === 'Ready' }),
    ready: pod?.isReady === true && !pod.isDeleting,
    ...nodeFacts(pass, nodeID),
  }
}

/** While the store does not answer, what was known of its nodes is left out. */
function nodeFacts(pass: Pass, nodeID: string): Partial<ClusterMember> {
  const node = nodeWithID(pass, nodeID)
  if (node === undefined) return {}
  return {
    zone: node.zone,
    ...(node.version === undefined ? {} : { version: node.version }),
    leaderCount: node.leaders,
    replicaCount: node.replicas,
    draining: node.state === 'draining',
  }
}

export function volumesOf({ observed }: Pass): ClusterVolume[] {
  const nodes = observed.nodes.claims.map((claim) => volumeOf(claim, 'Node'))
  const etcd = (observed.etcdPool?.claims ?? []).map((claim) => volumeOf(claim, 'Etcd'))
  return [...nodes, ...etcd].toSorted((one, other) => one.claimName.localeCompare(other.claimName))
}

/** To which the size in the spec may go back. `undefined` until every node has a volume whose capacity is known. */
export function largestCapacityOf({ observed, memory }: Pass): string | undefined {
  const claims = observed.nodes.claims.filter(({ ordinal }) => ordinal < memory.replicas)
  const capacities = claims.map(({ capacityBytes }) => capacityBytes)
  const areKnown = memory.replicas > 0 && capacities.length === memory.replicas
  return areKnown && !capacities.includes(0) ? bytesText(Math.max(...capacities)) : undefined
}

function volumeOf(claim: ClaimView, component: 'Node' | 'Etcd'): ClusterVolume {
  const { name: claimName, requestedBytes, capacityBytes, usedPercent, resize } = claim
  const bound = capacityBytes > 0 ? 'Bound' : 'Pending'
  return {
    claimName,
    component,
    requested: bytesText(requestedBytes),
    ...(capacityBytes === 0 ? {} : { capacity: bytesText(capacityBytes) }),
    ...(usedPercent === undefined ? {} : { usedPercent: inSteps(usedPercent) }),
    state: resize === 'Failed' ? 'ResizeFailed' : (resize ?? bound),
  }
}

function inSteps(percent: number): number {
  return Math.min(100, Math.round(percent / USED_PERCENT_STEP) * USED_PERCENT_STEP)
}

export function etcdStatusOf(pass: Pass): EtcdStatus | undefined {
  const { observed, memory, wanted } = pass
  if (!wanted.hasManagedEtcd) return undefined
  const { etcd } = observed
  const members = etcdMembersOf(pass)
  const listed = etcd === 'unreachable' ? [] : etcd.members
  const leader =
    etcd === 'unreachable' ? undefined : listed.find(({ id }) => id === etcd.leader)?.name
  const dbBytes = Math.max(0, ...listed.map((member) => member.dbBytes))
  const alarms = [...new Set(listed.flatMap((member) => member.alarms))].toSorted()
  return {
    ready: members.filter(({ ready }) => ready).length,
    desired: memory.etcdReplicas,
    members,
    ...(leader === undefined ? {} : { leader }),
    ...(listed.length === 0 ? {} : { dbSize: Math.ceil(dbBytes / DB_BYTES_STEP) * DB_BYTES_STEP }),
    ...(alarms.length === 0 ? {} : { alarms }),
  }
}

/** As recorded, and what etcd lists besides. */
function etcdMembersOf({ observed, memory }: Pass): EtcdMember[] {
  const listed = observed.etcd === 'unreachable' ? [] : observed.etcd.members
  const names = new Set([...memory.etcdMembers, ...listed].map(({ name }) => name))
  return [...names].toSorted().map((name) => {
    const record = memory.etcdMembers.find((member) => member.name === name)
    const member = listed.find((one) => one.name === name)
    const id = record?.id ?? member?.id
    return {
      name,
      ...(id === undefined ? {} : { id }),
      ...(record === undefined ? {} : { claimUID: record.claimUID }),
      ready: member?.isHealthy ?? false,
      ...(member?.isLearner === true ? { learner: true } : {}),
    }
  })
}
