// Fewer nodes. All that leave are drained at once, so that none of them is given what another one gives away; then they go
// one by one, the highest ordinal first.
//
//   Requested ── the targets are in the status ──> Draining ── the highest one is empty ──> Decommissioning
//   ── the store confirms ──> Marking ── its claim has the mark ──> Shrinking ── its pod is gone ──>
//   Forgetting ── the store lists it no more ──> Volume ── kept, or deleted ──> Draining of the next one, or over
//   Draining ── the spec asks for more again, or another operation comes first ──> Canceling ── all serve again ──> over
//
// Invariants:
//   SD1  Nothing is asked of the store before node, pod, claim and operation are in the status.
//   SD2  The set gets fewer pods only by one, and only in a pass in which the store confirms that the recorded node was
//        decommissioned by this operation and is empty, with the recorded pod and claim.
//   SD3  Decommissioned is final: from there the ordinal is taken away, whatever the spec says.
//   SD4  An undrain is sent for every drain that is not wanted any more: before the operation is over, or, where no node runs
//        that could be asked, as for a stray drain.
//   SD5  A claim has the mark before its pod goes, so that nothing starts over it again.

import type {
  ClusterOperation,
  OperationPhase,
  OperationTarget,
} from '../../kinds/cluster/operation.ts'
import { beginOperation, inPhase } from '../pass/memory.ts'
import { move, wait } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'
import { drain } from './draining.ts'
import { cancel } from './canceling.ts'
import { decommission, forget, mark, releaseVolume, shrink } from './taking-away.ts'
import { refreshedTargets } from './targets.ts'

export function beginScaleDown(pass: Pass): ClusterOperation {
  const operation = beginOperation('ScaleDown', 'Requested', pass.observed)
  return {
    ...operation,
    fromReplicas: pass.memory.replicas,
    toReplicas: pass.wanted.replicas,
    targets: [...refreshedTargets(pass, operation)],
  }
}

export function scaleDown(pass: Pass, operation: ClusterOperation): Move {
  const machine = PHASES[operation.phase] ?? draining
  return machine(pass, operation, currentTarget(operation))
}

const PHASES: Partial<
  Record<
    OperationPhase,
    (pass: Pass, operation: ClusterOperation, target: OperationTarget | undefined) => Move
  >
> = {
  Decommissioning: decommission,
  Marking: mark,
  Shrinking: shrink,
  Forgetting: forget,
  Volume: releaseVolume,
  Canceling: cancel,
}

function currentTarget({ targets, targetOrdinal }: ClusterOperation): OperationTarget | undefined {
  return targets?.find(({ ordinal }) => ordinal === targetOrdinal)
}

/** SD1: a pass that records targets does nothing else. */
function draining(pass: Pass, operation: ClusterOperation): Move {
  const { targetOrdinal: _, ...rest } = operation
  const here = inPhase(rest, 'Draining', pass.observed.nowMs)
  const unwanted = (here.targets ?? []).some(({ ordinal }) => ordinal < pass.wanted.replicas)
  if (unwanted) return move(pass, inPhase(here, 'Canceling', pass.observed.nowMs))
  const targets = refreshedTargets(pass, here)
  if (targets !== here.targets) return move(pass, { ...here, targets: [...targets] })
  if (targets.length === 0) return move(pass, undefined)
  return drain(pass, here)
}

/** Whether the operation may end without having taken away the node that it is at (SD3). */
export function mayCancel({ phase }: ClusterOperation): boolean {
  return phase === 'Requested' || phase === 'Draining' || phase === 'Canceling'
}

/** The drain makes room for an operation that comes first. */
export function yieldScaleDown(pass: Pass, operation: ClusterOperation): Move {
  const canceling = inPhase(operation, 'Canceling', pass.observed.nowMs)
  return operation.phase === 'Canceling'
    ? cancel(pass, operation)
    : wait(pass, canceling, 'WaitingForDrain', 'the drain is taken back')
}
