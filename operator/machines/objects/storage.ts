// Volumes grow. Claims are patched before any gate is asked: a full volume may be the reason why the gates are closed. The
// claim template of a set cannot be changed, so that the set is deleted without its pods and made again.
//
//   OrphanSet ── the recorded set is gone, its pods run ──> RecreateSet ── another set has its pods ──> over
//
// Invariants:
//   STG1  A claim never gets a smaller request.
//   STG2  The set is deleted only without its pods, and only while no pod is on its way to another template.
//   STG3  The new set has as many pods as were remembered, and no pod restarts for it.

import type { ClusterOperation } from '../../kinds/cluster/operation.ts'
import { beginOperation, inPhase } from '../pass/memory.ts'
import type { ClaimView, PoolView } from '../observed/kubernetes-view.ts'
import { remadeNodeSet } from './keeping.ts'
import { isCaughtUp, isDrained, move, wait } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** The next claim that is too small. */
export function growClaims(pass: Pass): Move | undefined {
  const { observed, memory } = pass
  const leaving = new Set((memory.operation?.targets ?? []).map(({ ordinal }) => ordinal))
  const small =
    observed.nodes.claims
      .filter(({ ordinal }) => !leaving.has(ordinal))
      .find((claim) => isTooSmall(pass, claim, observed.desired.claimBytes)) ??
    observed.etcdPool?.claims.find((claim) =>
      isTooSmall(pass, claim, observed.desired.etcdClaimBytes),
    )
  if (small === undefined) return undefined
  const { name, uid, resourceVersion } = small
  const isOfNodes = observed.nodes.claims.includes(small)
  const bytes = isOfNodes ? observed.desired.claimBytes : observed.desired.etcdClaimBytes
  const claim = { uid, resourceVersion }
  return move(pass, memory.operation, { kind: 'grow_claim', name, claim, bytes })
}

/** STG1. Claims of other clusters of this name are not ours until they are adopted. */
function isTooSmall({ observed }: Pass, claim: ClaimView, bytes: number): boolean {
  const isOurs = claim.clusterUID === observed.cluster.uid
  if (!isOurs || claim.isDeleting || isDrained(claim) || !claim.isExpandable) return false
  return claim.requestedBytes < bytes
}

/** Whether a set has a claim template of another size, so that new ordinals would start with it. */
export function needsNewSet({ observed, memory }: Pass): boolean {
  const { nodes, desired } = observed
  const { set } = nodes
  if (set === undefined || !isCaughtUp(set) || set.claimBytes >= desired.claimBytes) return false
  // Pods that were added by hand are taken over or away first (STG3).
  if (set.replicas !== memory.replicas) return false
  return isSettled(nodes) && set.template.digest === desired.template.digest
}

/** STG2. */
function isSettled({ set, pods }: PoolView): boolean {
  if (set === undefined || set.partition > 0) return false
  return pods.every(({ revision }) => revision === set.updateRevision)
}

export function beginResize({ observed }: Pass): ClusterOperation {
  const operation = beginOperation('Resize', 'OrphanSet', observed)
  const setUID = observed.nodes.set?.uid
  return setUID === undefined ? operation : { ...operation, setUID }
}

export function resize(pass: Pass, operation: ClusterOperation): Move {
  const { nodes, nowMs } = pass.observed
  const { set } = nodes
  if (set === undefined) {
    return move(pass, inPhase(operation, 'RecreateSet', nowMs), remadeNodeSet(pass))
  }
  if (set.isDeleting) {
    return wait(pass, operation, 'WaitingForFreshState', 'the StatefulSet is being deleted')
  }
  // Another UID: it was made again, by an earlier pass.
  if (set.uid !== operation.setUID) return move(pass, undefined)
  if (operation.phase !== 'OrphanSet' || !needsNewSet(pass)) return move(pass, undefined)
  const { uid, resourceVersion } = set
  return move(pass, operation, {
    kind: 'delete_set',
    pool: 'nodes',
    set: { uid, resourceVersion },
    keepsPods: true,
  })
}
