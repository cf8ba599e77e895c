// Whether a table that is dropped and created again keeps what it must, and nothing of its earlier lives.

import type { Operation, Violation } from './client-history.ts'

export type DropCall =
  /** Each element is added once. */
  | { readonly kind: 'add'; readonly element: string }
  | { readonly kind: 'drop' }
  /** `isLast`: nothing else happens any more, and every node knows every table. */
  | { readonly kind: 'read'; readonly isLast: boolean }

/** What a read saw; empty if there was no table. The others answer the empty list. */
export type DropOperation = Operation<DropCall, readonly string[]>

/**
 * For each read:
 * - `ghost`: an element that was refused, or that nobody had begun to add.
 * - `lost`: an element that was acknowledged before it, if nobody had begun to drop the table.
 * - `back`: a last read sees an element that had been settled when a drop began that was acknowledged.
 */
export function findDropViolations(operations: readonly DropOperation[]): readonly Violation[] {
  const drops = operations.filter(({ call }) => call.kind === 'drop')
  const firstDrop = Math.min(...drops.map(({ invokedAt }) => invokedAt))
  const lastDrop = Math.max(
    ...drops.filter(({ ending }) => ending.kind === 'ok').map(({ invokedAt }) => invokedAt),
  )
  return operations.flatMap((read) => {
    const { call, ending, client } = read
    if (call.kind !== 'read' || ending.kind !== 'ok') return []
    const seen = new Set(ending.answer)
    return operations.flatMap((add): Violation[] => {
      if (add.call.kind !== 'add') return []
      const { element } = add.call
      const found = (rule: string): Violation[] => [{ rule, description: `${client}: ${element}` }]
      if (!seen.has(element)) {
        const isKept = add.ending.kind === 'ok' && add.endedAt < read.invokedAt
        return isKept && firstDrop > read.endedAt ? found('lost') : []
      }
      if (add.ending.kind === 'fail' || add.invokedAt > read.endedAt) return found('ghost')
      return call.isLast && add.endedAt < lastDrop ? found('back') : []
    })
  })
}
