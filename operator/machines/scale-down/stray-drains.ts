import { freshStore, move } from '../pass/pass.ts'
import type { Move, Pass } from '../pass/pass.ts'

/** Drains by this operator that belong to no operation in flight, as of a call that came late. Those of people stay. */
export function endStrayDrains(pass: Pass): Move | undefined {
  const store = freshStore(pass)
  const { memory, observed } = pass
  const stray = store?.nodes.find(
    ({ state, operation }) =>
      state === 'draining' &&
      operation?.startsWith(`${observed.cluster.uid}.`) === true &&
      operation !== memory.operation?.id,
  )
  if (stray?.operation === undefined) return undefined
  const { id: nodeID, operation } = stray
  return move(pass, memory.operation, { kind: 'undrain', nodeID, operation })
}
