// More nodes, a few at a time.
//
//   ClearingVolume ── no volume of a drained node is left at the new ordinals ──> StartingNodes ── the set has them ──>
//   WaitingForNodes ── ready, and taking part in the store ──> ClearingVolume of the next ones, or over
//
// Invariants:
//   SU1  The set is raised only after the number is in the status, so that nothing else takes the new pods for strangers.

import type { ClusterOperation } from '../../kinds/cluster/operation.ts'
import { prepareClaims } from '../objects/claims.ts'
import { setReplicas } from '../objects/keeping.ts'
import { beginOperation, inPhase, phaseAgeMs } from '../pass/memory.ts'
import { hasJoined, move, ordinalsFrom, podNameOf, wait } from '../pass/pass.ts'
import type { Move, Pass, PhaseTable } from '../pass/pass.ts'

export function beginScaleUp({ observed, memory }: Pass): ClusterOperation {
  const operation = beginOperation('ScaleUp', 'ClearingVolume', observed)
  return { ...operation, targetOrdinal: memory.replicas }
}

export function scaleUp(pass: Pass, operation: ClusterOperation): Move {
  const machine = PHASES[operation.phase] ?? awaitJoined
  return machine(pass, operation)
}

const PHASES: PhaseTable = { ClearingVolume: clearClaims, StartingNodes: raise }

function clearClaims(pass: Pass, operation: ClusterOperation): Move {
  const { memory, wanted, observed } = pass
  const end = Math.min(wanted.replicas, memory.replicas + wanted.scaleUpMax)
  if (end <= memory.replicas) return move(pass, undefined)
  const preparing = prepareClaims(pass, ordinalsFrom(memory.replicas, end))
  if (preparing === 'wait') {
    return wait(pass, operation, 'WaitingForVolumes', 'a drained volume is being deleted')
  }
  if (preparing !== undefined) return move(pass, operation, preparing)
  const raising = inPhase(operation, 'StartingNodes', observed.nowMs)
  const here = { ...pass, memory: { ...memory, replicas: end } }
  return move(here, { ...raising, targetOrdinal: end - 1 })
}

function raise(pass: Pass, operation: ClusterOperation): Move {
  const { memory, observed } = pass
  const { set } = observed.nodes
  if (set === undefined) {
    return wait(pass, operation, 'WaitingForPods', 'the StatefulSet is being made')
  }
  if (set.replicas >= memory.replicas) {
    return move(pass, inPhase(operation, 'WaitingForNodes', observed.nowMs))
  }
  return move(pass, operation, setReplicas('nodes', set, memory.replicas))
}

function awaitJoined(pass: Pass, operation: ClusterOperation): Move {
  const { memory, wanted, observed } = pass
  const missing = ordinalsFrom(0, memory.replicas).filter((ordinal) => !hasJoined(pass, ordinal))
  if (missing.length === 0 || wanted.replicas < memory.replicas) {
    const isOver = wanted.replicas <= memory.replicas
    return move(pass, isOver ? undefined : inPhase(operation, 'ClearingVolume', observed.nowMs))
  }
  const names = missing.map((ordinal) => podNameOf(pass, ordinal)).join(', ')
  const isLate = phaseAgeMs(operation, observed.nowMs) > wanted.pods.timeoutMs
  return wait(pass, operation, isLate ? 'Stalled' : 'WaitingForPods', `not joined yet: ${names}`)
}
