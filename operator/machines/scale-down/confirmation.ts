// What the store must have said before a node is taken away. A label of an earlier life of the same ordinal has cost other
// databases their data: a confirmation counts for one node, one pod, one claim and one operation.

import type { OperationTarget } from '../../kinds/cluster/operation.ts'
import type { ClusterOperation } from '../../kinds/cluster/operation.ts'
import { claimAt, freshStore, isAway, nodeWithID, podAt } from '../pass/pass.ts'
import type { Pass } from '../pass/pass.ts'
import type { StoreNode } from '../observed/store-view.ts'

/** What the store says of the node of a target, if its answer is recent. */
export function askedNode(pass: Pass, { nodeID }: OperationTarget): StoreNode | undefined {
  return freshStore(pass) === undefined ? undefined : nodeWithID(pass, nodeID)
}

/** Whether pod and claim are those that the target was recorded with. A pod that is away has no UID to differ. */
export function isSameIdentity(pass: Pass, target: OperationTarget): boolean {
  const pod = podAt(pass.observed.nodes, target.ordinal)
  const claim = claimAt(pass.observed.nodes, target.ordinal)
  const isSamePod = pod === undefined || pod.uid === target.podUID
  const isSameClaim = claim === undefined || claim.uid === target.claimUID
  return isSamePod && isSameClaim
}

/** Drained by this operation, and empty. */
export function isDrainedFor(node: StoreNode, { id }: ClusterOperation): boolean {
  return node.state === 'draining' && node.operation === id && node.emptying?.done === true
}

/** Decommissioned by this operation, and empty: its pod may go. */
export function isConfirmed(node: StoreNode | undefined, { id }: ClusterOperation): boolean {
  if (node === undefined || node.operation !== id) return false
  return node.state === 'decommissioned' && node.emptying?.done === true
}

/**
 * Whether people have accepted the loss of what is on the disk of this node, which cannot start: the store takes the
 * replicas from others. It still refuses to be done while a shard would lose its last copy.
 */
export function isForced(pass: Pass, { ordinal }: OperationTarget, node: StoreNode): boolean {
  return pass.observed.cluster.overrides.forceDrainOrdinal === ordinal && isAway(node)
}

/** A pod whose node has never joined: no record, nothing in the store's list, and not ready. */
export function hasNeverJoined(pass: Pass, target: OperationTarget): boolean {
  const store = freshStore(pass)
  const pod = podAt(pass.observed.nodes, target.ordinal)
  if (store === undefined || target.nodeID !== undefined || pod?.isReady === true) return false
  const isRemembered = pass.memory.members.some(({ ordinal }) => ordinal === target.ordinal)
  return !isRemembered && !store.nodes.some(({ name }) => name === podName(pass, target.ordinal))
}

function podName({ observed: { cluster } }: Pass, ordinal: number): string {
  return `${cluster.name}-node-${ordinal}`
}
