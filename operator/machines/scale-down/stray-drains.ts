import { isOwnOperation } from '../pass/memory.ts'
import { freshStore, move } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/**
 * Drains by an operator that belong to no operation in flight: of a call that came late, or for an earlier cluster of the name.
 * Those of people stay.
 */
export function endStrayDrains(pass: Pass): Move | undefined {
  const store = freshStore(pass)
  const { memory } = pass
  const stray = store?.nodes.find(
    ({ state, operation }) =>
      state === 'draining' &&
      operation !== undefined &&
      isOwnOperation(operation) &&
      operation !== memory.operation?.id,
  )
  if (stray?.operation === undefined) return undefined
  const { id: nodeID, operation } = stray
  return move(pass, memory.operation, { kind: 'undrain', nodeID, operation })
}
