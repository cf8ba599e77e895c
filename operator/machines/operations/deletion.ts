// A cluster is deleted. Nothing but its own pods is waited for, and that not without end: not an invalid spec, nor a
// missing Secret, nor a store that does not answer.
//
//   StoppingNodes ── no pod of a node ──> StoppingEtcd ── no pod of etcd ──> RemovingVolumes ── by the policy ──> released
//
// Invariants:
//   DL1  Only claims with this cluster's UID are deleted, and only by the policy that is in the spec now.
//   DL2  No step makes an object: in a namespace that is being deleted, that would be refused.
//   DL3  A pod on a Kubernetes node that is lost does not keep the object: its deletion is not forced either.

import type { ClusterOperation, OperationPhase } from '../../kinds/cluster/operation.ts'
import { deleteClaim } from '../objects/claims.ts'
import type { Pool } from '../pass/decision.ts'
import { beginOperation, inPhase } from '../pass/memory.ts'
import type { ClaimView, PoolView } from '../observed/kubernetes-view.ts'
import { move, wait } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** How long after their grace period pods are waited for. */
const STOPPING_MAX_MS = 5 * 60_000

export function deleteCluster(pass: Pass): Move {
  const { memory, observed } = pass
  const { nodes, etcdPool } = observed
  const operation =
    memory.operation?.type === 'Delete'
      ? memory.operation
      : beginOperation('Delete', 'StoppingNodes', observed)
  // Without the finalizer there is nothing that this operator has to do before the object goes.
  if (!observed.cluster.hasFinalizer) return move(pass, operation)
  return (
    stopPool(pass, at(pass, operation, 'StoppingNodes'), { pool: 'nodes', view: nodes }) ??
    stopPool(pass, at(pass, operation, 'StoppingEtcd'), { pool: 'etcd', view: etcdPool }) ??
    deleteClaims(pass, at(pass, operation, 'RemovingVolumes')) ??
    move(pass, at(pass, operation, 'RemovingVolumes'), { kind: 'remove_finalizer' })
  )
}

function at({ observed }: Pass, operation: ClusterOperation, phase: OperationPhase) {
  return inPhase(operation, phase, observed.nowMs)
}

function stopPool(
  pass: Pass,
  operation: ClusterOperation,
  { pool, view }: { readonly pool: Pool; readonly view: PoolView | undefined },
): Move | undefined {
  if (view === undefined) return undefined
  const { set, pods } = view
  if (set !== undefined && !set.isDeleting) {
    const { uid, resourceVersion } = set
    const version = { uid, resourceVersion }
    return move(pass, operation, { kind: 'delete_set', pool, set: version, keepsPods: false })
  }
  // Pods that a set has left behind, as when this came between its deletion and its new one, have nobody else to stop them.
  const left = set === undefined ? pods.find(({ isDeleting }) => !isDeleting) : undefined
  if (left !== undefined) {
    return move(pass, operation, { kind: 'delete_pod', name: left.name, uid: left.uid })
  }
  if ((pods.length === 0 && set === undefined) || isOverdue(pass)) return undefined
  return wait(pass, operation, 'WaitingForPods', `${pods.length} pods are stopping`)
}

/** DL3. */
function isOverdue({ observed, wanted }: Pass): boolean {
  const { cluster, nowMs } = observed
  return nowMs - (cluster.deletedAtMs ?? nowMs) > wanted.pods.graceMs + STOPPING_MAX_MS
}

/** DL1. A claim that is on its way out is not waited for. */
function deleteClaims(pass: Pass, operation: ClusterOperation): Move | undefined {
  const { nodes, etcdPool } = pass.observed
  if (!pass.wanted.deletesClaimsWith.cluster) return undefined
  const claims = [...nodes.claims, ...(etcdPool?.claims ?? [])]
  const next = claims.find((claim) => isOurs(pass, claim) && !claim.isDeleting)
  return next === undefined ? undefined : move(pass, operation, deleteClaim(next))
}

function isOurs({ observed }: Pass, { clusterUID }: ClaimView): boolean {
  return clusterUID === observed.cluster.uid
}
