import type { ClusterOperation, OperationTarget } from '../../kinds/cluster/operation.ts'
import { inPhase } from '../pass/memory.ts'
import { freshStore, move, nodeWithID, wait } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** Takes the drains back; then what is still wanted begins again with another id (SD4). */
export function cancel(pass: Pass, operation: ClusterOperation): Move {
  if (freshStore(pass) === undefined) {
    return wait(pass, operation, 'WaitingForHealth', 'the store does not answer')
  }
  const drained = (operation.targets ?? []).find((target) => isDraining(pass, operation, target))
  if (drained?.nodeID === undefined) return move(pass, undefined)
  const { id } = operation
  const step = { kind: 'undrain', nodeID: drained.nodeID, operation: id } as const
  return move(pass, inPhase(operation, 'Canceling', pass.observed.nowMs), step)
}

function isDraining(pass: Pass, { id }: ClusterOperation, { nodeID }: OperationTarget): boolean {
  const node = nodeWithID(pass, nodeID)
  return node !== undefined && node.state === 'draining' && node.operation === id
}
