// Which volumes a cluster takes for its own, and which it never uses again.
//
// Invariants:
//   CLM1  A claim without the mark of a drained node is never deleted, but by the policies of the spec.
//   CLM2  The mark is written only for a node that the store says is decommissioned and empty.
//   CLM3  A claim with the mark is deleted before a pod of its ordinal starts; one that has started over it is started anew.

import type { Step } from '../pass/decision.ts'
import { isoTime } from '../pass/memory.ts'
import type { ClaimView } from '../observed/kubernetes-view.ts'
import { claimAt, freshStore, isDrained, move, nodeWithID, podAt } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** The first thing to be done before pods of these ordinals may start; `wait` while a claim is on its way out. */
export function prepareClaims(pass: Pass, ordinals: readonly number[]): Step | 'wait' | undefined {
  for (const ordinal of ordinals) {
    const claim = claimAt(pass.observed.nodes, ordinal)
    if (claim === undefined) continue
    if (claim.isDeleting) return 'wait'
    if (isDrained(claim)) return isInUse(pass, claim) ? 'wait' : deleteClaim(claim)
    const adoption = adoptClaim(pass, claim)
    if (adoption !== undefined) return adoption
  }
  return undefined
}

/** Nothing is believed of a mark while the store lists its node as one that is in use. */
function isInUse(pass: Pass, claim: ClaimView): boolean {
  const state = nodeWithID(pass, claim.drained?.nodeID)?.state
  return state === 'serving' || state === 'draining'
}

export function deleteClaim({ name, uid, resourceVersion }: ClaimView): Step {
  return { kind: 'delete_claim', name, claim: { uid, resourceVersion } }
}

/** A claim that an earlier cluster of this name has left belongs to this one as soon as its pods use it. */
function adoptClaim(pass: Pass, claim: ClaimView): Step | undefined {
  const { uid: clusterUID } = pass.observed.cluster
  if (claim.clusterUID === clusterUID || claim.isDeleting) return undefined
  const { name, uid, resourceVersion } = claim
  return { kind: 'adopt_claim', name, claim: { uid, resourceVersion }, clusterUID }
}

/**
 * Claims of ordinals that stay. Those without our UID are adopted. A node that was decommissioned, whether by hand or by
 * a scale-down that the spec has overtaken, never serves again: its claim gets the mark, and then a fresh claim follows.
 */
export function tendClaims(pass: Pass): Move | undefined {
  const { memory, wanted, observed } = pass
  const { operation } = memory
  const leaving = operation?.type === 'ScaleDown' ? operation.targetOrdinal : undefined
  for (const claim of observed.nodes.claims) {
    const stays = claim.ordinal < Math.min(memory.replicas, wanted.replicas)
    if (!stays || leaving === claim.ordinal) continue
    const step = isDrained(claim)
      ? startAnew(pass, claim)
      : (adoptClaim(pass, claim) ?? markDead(pass, claim))
    if (step !== undefined) return move(pass, operation, step)
  }
  const ofEtcd = (observed.etcdPool?.claims ?? [])
    .filter(({ ordinal }) => ordinal < memory.etcdReplicas)
    .flatMap((claim) => adoptClaim(pass, claim) ?? [])[0]
  return ofEtcd === undefined ? undefined : move(pass, operation, ofEtcd)
}

function markDead(
  pass: Pass,
  { name, uid, resourceVersion, ordinal }: ClaimView,
): Step | undefined {
  const member = pass.memory.members.find((one) => one.ordinal === ordinal)
  if (member?.claimUID !== uid || freshStore(pass) === undefined) return undefined
  const node = nodeWithID(pass, member.nodeID)
  if (node?.state !== 'decommissioned' || node.emptying?.done !== true) return undefined
  const { nowMs, cluster } = pass.observed
  const by = { nodeID: member.nodeID, operation: node.operation ?? 'unknown' }
  const mark = { at: isoTime(nowMs), cluster: cluster.uid, ...by }
  return { kind: 'mark_claim', name, claim: { uid, resourceVersion }, mark }
}

/** Kubernetes keeps a claim while its pod is there, and the set makes both again. */
function startAnew(pass: Pass, claim: ClaimView): Step | undefined {
  if (isInUse(pass, claim)) return undefined
  if (!claim.isDeleting) return deleteClaim(claim)
  const pod = podAt(pass.observed.nodes, claim.ordinal)
  if (pod === undefined || pod.isDeleting) return undefined
  return { kind: 'delete_pod', name: pod.name, uid: pod.uid }
}
