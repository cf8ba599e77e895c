// Which node has which volume.
//
// Invariants:
//   MR1  The node of an ordinal is replaced in the record only when another one has joined over another claim.
//   MR2  A node whose claim was replaced stays among the former ones until the store has forgotten it.
//   MR3  Only a node that is away is decommissioned here: a former one, or one of more pods than there are, whose volume is
//        gone, while every shard takes writes.
//
//   recorded ── its claim is replaced, and a new node joins ──> the new one is recorded, the old one is former
//   former ── decommissioned ──> emptied: the others have its replicas ── forgotten ──> not remembered

import { operationID } from '../pass/memory.ts'
import type { Memory, Member } from '../pass/memory.ts'
import type { PodView } from '../observed/kubernetes-view.ts'
import type { StoreNode } from '../observed/store-view.ts'
import {
  claimAt,
  freshStore,
  isAway,
  move,
  nodeWithID,
  nodeOrdinal,
  podAt,
  presentNode,
} from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** The memory with the nodes that have joined since, and without former ones that the store has forgotten. */
export function withMembers(pass: Pass): Memory {
  if (freshStore(pass) === undefined) return pass.memory
  const { members, replicas } = pass.memory
  const known = new Set(members.map(({ ordinal }) => ordinal))
  const joined = pass.observed.nodes.pods
    .filter(({ ordinal }) => ordinal < replicas && !known.has(ordinal))
    .flatMap((pod) => joinedMember(pass, pod))
  const kept = members.map((member) => refreshed(pass, member))
  if (joined.length === 0 && kept.every((member, index) => member === members[index])) {
    return pass.memory
  }
  const all = [...kept, ...joined].toSorted((one, other) => one.ordinal - other.ordinal)
  return { ...pass.memory, members: all }
}

function joinedMember(pass: Pass, pod: PodView): Member[] {
  const claim = claimAt(pass.observed.nodes, pod.ordinal)
  const node = presentNode(pass, pod.name)
  if (claim === undefined || claim.isDeleting || node === undefined) return []
  const { name: podName, ordinal } = pod
  const formerNodeIDs = namesakes(pass, node)
  return [{ podName, ordinal, nodeID: node.id, claimUID: claim.uid, formerNodeIDs }]
}

/**
 * Nodes that had the pod before this one, as before the cluster of this name was made again. While shards take no writes
 * one of them may have the only copy, so that they are left to people.
 */
function namesakes(pass: Pass, present: StoreNode): string[] {
  const store = freshStore(pass)
  if (store === undefined || store.shards.unavailable > 0) return []
  return store.nodes
    .filter((node) => node.name === present.name && node.id !== present.id && isAway(node))
    .map(({ id }) => id)
    .slice(-FORMER_MAX)
}

/** The member itself if nothing is new. */
function refreshed(pass: Pass, member: Member): Member {
  const former = member.formerNodeIDs.filter((id) => !isForgotten(pass, id))
  const pod = podAt(pass.observed.nodes, member.ordinal)
  const [found] = pod === undefined ? [] : joinedMember(pass, pod)
  if (found !== undefined && found.claimUID !== member.claimUID && found.nodeID !== member.nodeID) {
    const all = new Set([...former, ...found.formerNodeIDs, member.nodeID])
    return { ...found, formerNodeIDs: [...all].slice(-FORMER_MAX) }
  }
  // Those that were left alone while shards took no writes are found later.
  const known = [...new Set([...former, ...(found?.formerNodeIDs ?? [])])].slice(-FORMER_MAX)
  return known.join() === member.formerNodeIDs.join() ? member : { ...member, formerNodeIDs: known }
}

/** The status of a StoreCluster takes eight former node ids of one member. */
const FORMER_MAX = 8

function isForgotten(pass: Pass, nodeID: string): boolean {
  const node = nodeWithID(pass, nodeID)
  return node === undefined || node.state === 'forgotten'
}

/** Whether the claim of the member is not the one that its node was recorded with. */
export function hasLostClaim(pass: Pass, { ordinal, claimUID }: Member): boolean {
  const claim = claimAt(pass.observed.nodes, ordinal)
  return claim !== undefined && claim.uid !== claimUID
}

/** Takes former nodes out of the cluster, so that the store replaces their replicas at once. */
export function replaceFormerNodes(pass: Pass): Move | undefined {
  if (freshStore(pass) === undefined) return undefined
  const { memory } = pass
  const former = memory.members.flatMap(({ formerNodeIDs }) => formerNodeIDs)
  for (const nodeID of [...former, ...nodesWithoutPlace(pass)]) {
    const node = nodeWithID(pass, nodeID)
    if (node === undefined || !isAway(node)) continue
    if (node.state !== 'decommissioned' && node.state !== 'forgotten') {
      const operation = lossOf(pass, nodeID)
      return move(pass, memory.operation, { kind: 'decommission', nodeID, operation })
    }
    if (node.state === 'decommissioned' && node.emptying?.done === true) {
      return move(pass, memory.operation, { kind: 'forget', nodeID })
    }
  }
  return undefined
}

/** Every pass makes the same id, so it need not be stored before the call. */
function lossOf({ observed }: Pass, nodeID: string): string {
  return operationID(observed.cluster.uid, `lost.${nodeID}`)
}

/** Nodes of more pods than the cluster has, whose pods and volumes are gone, as after changes by hand. Nobody brings them back. */
function nodesWithoutPlace(pass: Pass): readonly string[] {
  const { memory, observed } = pass
  const store = freshStore(pass)
  // One of these nodes may have the only copy of a shard.
  if (store === undefined || store.shards.unavailable > 0 || memory.isHibernated) return []
  const isLost = ({ id, name = '', state, operation }: StoreNode): boolean => {
    const ordinal = nodeOrdinal(pass, name)
    if (ordinal === undefined || ordinal < memory.replicas) return false
    if (podAt(observed.nodes, ordinal) !== undefined) return false
    if (observed.nodes.claims.some((claim) => claim.ordinal === ordinal)) return false
    return state === 'serving' || state === 'draining' || operation === lossOf(pass, id)
  }
  return memory.replicas === 0 ? [] : store.nodes.filter(isLost).map(({ id }) => id)
}
