// The last part of a scale-down, which is not taken back: one ordinal from the confirmed drain to the volume.

import type { ClusterOperation, OperationTarget } from '../../kinds/cluster/operation.ts'
import { deleteClaim } from '../objects/claims.ts'
import { remadeNodeSet, setReplicas } from '../objects/keeping.ts'
import { inPhase, isoTime } from '../pass/memory.ts'
import type { ClaimView } from '../observed/kubernetes-view.ts'
import type { StoreNode } from '../observed/store-view.ts'
import { claimAt, freshStore, move, podAt, wait } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import {
  askedNode,
  hasNeverJoined,
  isConfirmed,
  isDrainedFor,
  isForced,
  isSameIdentity,
} from './confirmation.ts'

type Target = OperationTarget | undefined

export function decommission(pass: Pass, operation: ClusterOperation, target: Target): Move {
  const node = target === undefined ? undefined : askedNode(pass, target)
  if (target === undefined || node === undefined) return backToDraining(pass, operation)
  if (node.state !== 'decommissioned') return sendDecommission(pass, operation, { target, node })
  if (!isSameIdentity(pass, target)) return backToDraining(pass, operation)
  if (isConfirmed(node, operation)) {
    return move(pass, inPhase(operation, 'Marking', pass.observed.nowMs))
  }
  if (node.operation !== operation.id) {
    return move(pass, operation, {
      kind: 'decommission',
      nodeID: node.id,
      operation: operation.id,
    })
  }
  const waitsFor = node.emptying?.waitingFor ?? 'its replicas are made elsewhere'
  return wait(pass, operation, 'WaitingForDrain', waitsFor)
}

/** The last moment at which the spec, the pod, the claim and the drain are looked at (SD3). */
function sendDecommission(
  pass: Pass,
  operation: ClusterOperation,
  { target, node }: { readonly target: OperationTarget; readonly node: StoreNode },
): Move {
  const isWanted = target.ordinal < pass.wanted.replicas
  const isReady = isDrainedFor(node, operation) || isForced(pass, target, node)
  if (isWanted || !isReady || !isSameIdentity(pass, target)) return backToDraining(pass, operation)
  return move(pass, operation, { kind: 'decommission', nodeID: node.id, operation: operation.id })
}

function backToDraining(pass: Pass, operation: ClusterOperation): Move {
  const { targetOrdinal: _, ...rest } = operation
  return move(pass, inPhase(rest, 'Draining', pass.observed.nowMs))
}

/** SD5. */
export function mark(pass: Pass, operation: ClusterOperation, target: Target): Move {
  const nodeID = target?.nodeID
  if (target === undefined || nodeID === undefined) return backToDraining(pass, operation)
  const claim = claimAt(pass.observed.nodes, target.ordinal)
  if (claim !== undefined && claim.uid !== target.claimUID) return backToDraining(pass, operation)
  const isMarked = claim?.drained?.nodeID === nodeID && claim.drained.operation === operation.id
  if (claim === undefined || claim.isDeleting || isMarked) {
    return move(pass, inPhase(operation, 'Shrinking', pass.observed.nowMs))
  }
  return move(pass, operation, markClaim(pass, claim, { nodeID, operation: operation.id }))
}

function markClaim(
  { observed }: Pass,
  { name, uid, resourceVersion }: ClaimView,
  by: { readonly nodeID: string; readonly operation: string },
) {
  const written = { at: isoTime(observed.nowMs), cluster: observed.cluster.uid, ...by }
  return { kind: 'mark_claim', name, claim: { uid, resourceVersion }, mark: written } as const
}

/** SD2. */
export function shrink(pass: Pass, operation: ClusterOperation, target: Target): Move {
  const { nodes, nowMs } = pass.observed
  const { set } = nodes
  if (target === undefined) return backToDraining(pass, operation)
  // Somebody has deleted it, and the pod that leaves may be gone, too: without it only by a confirmation of this pass (SD2).
  if (set === undefined) {
    const isConfirmedNow = mayShrink(pass, operation, target)
    return move(pass, operation, remadeNodeSet(pass, isConfirmedNow ? target.ordinal : undefined))
  }
  if (set.isDeleting) {
    return wait(pass, operation, 'WaitingForFreshState', 'the StatefulSet is being deleted')
  }
  if (set.replicas <= target.ordinal) {
    if (podAt(nodes, target.ordinal) !== undefined) {
      return wait(pass, operation, 'WaitingForPods', 'the pod is stopping')
    }
    const here = { ...pass, memory: { ...pass.memory, replicas: target.ordinal } }
    return move(here, inPhase(operation, 'Forgetting', nowMs))
  }
  // More pods than were recorded, as after an edit of the set by hand, are above this one.
  if (set.replicas > target.ordinal + 1) return backToDraining(pass, operation)
  if (!mayShrink(pass, operation, target)) return awaitConfirmation(pass, operation)
  return move(pass, operation, setReplicas('nodes', set, target.ordinal))
}

function mayShrink(pass: Pass, operation: ClusterOperation, target: OperationTarget): boolean {
  if (!isSameIdentity(pass, target)) return false
  if (hasNeverJoined(pass, target)) return target.ordinal >= pass.wanted.replicas
  return isConfirmed(askedNode(pass, target), operation)
}

/** An answer that is late is waited for; another answer begins again, where pod and claim are recorded anew. */
function awaitConfirmation(pass: Pass, operation: ClusterOperation): Move {
  return freshStore(pass) === undefined
    ? wait(pass, operation, 'WaitingForHealth', 'the store does not answer')
    : backToDraining(pass, operation)
}

export function forget(pass: Pass, operation: ClusterOperation, target: Target): Move {
  const volume = inPhase(operation, 'Volume', pass.observed.nowMs)
  if (target?.nodeID === undefined) return move(pass, volume)
  if (freshStore(pass) === undefined) {
    return wait(pass, operation, 'WaitingForHealth', 'the store does not answer')
  }
  const node = askedNode(pass, target)
  if (node === undefined || node.state === 'forgotten') return move(pass, volume)
  return move(pass, operation, { kind: 'forget', nodeID: node.id })
}

export function releaseVolume(pass: Pass, operation: ClusterOperation, target: Target): Move {
  const claim = target === undefined ? undefined : claimAt(pass.observed.nodes, target.ordinal)
  const isOurs = claim !== undefined && claim.uid === target?.claimUID && !claim.isDeleting
  if (isOurs && pass.wanted.deletesClaimsWith.ordinal) {
    return move(pass, operation, deleteClaim(claim))
  }
  const isGone = ({ ordinal }: { readonly ordinal: number }) => ordinal === target?.ordinal
  const members = pass.memory.members.filter((member) => !isGone(member))
  const targets = (operation.targets ?? []).filter((one) => !isGone(one))
  const here = { ...pass, memory: { ...pass.memory, members } }
  return targets.length === 0
    ? move(here, undefined)
    : backToDraining(here, { ...operation, targets })
}
