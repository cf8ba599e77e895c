// Whether a set that only grows has lost or invented elements.

import type { Operation, Violation } from './client-history.ts'

export type SetCall =
  /** Each element is added once. A retry of an add with unknown outcome is the same operation. */
  { readonly kind: 'add'; readonly element: string } | { readonly kind: 'read' }

/** What a read saw, each element as often as it was there. An add answers the empty list. */
export type SetAnswer = readonly string[]

export type SetOperation = Operation<SetCall, SetAnswer>

/**
 * For each read:
 * - `lost`: an element that was acknowledged, or seen by another read, before the read began.
 * - `ghost`: an element that was refused, that nobody had begun to add, or that nobody knows.
 * - `twice`: an element that is there more than once.
 */
export function findSetViolations(operations: readonly SetOperation[]): readonly Violation[] {
  const adds = new Map<string, SetOperation>()
  const reads: SetOperation[] = []
  for (const operation of operations) {
    const { call } = operation
    if (call.kind === 'add') adds.set(call.element, operation)
    else if (operation.ending.kind === 'ok') reads.push(operation)
  }
  const sureFrom = acknowledgedAt(adds)
  const violations: Violation[] = []
  for (const read of reads.toSorted((a, b) => a.endedAt - b.endedAt)) {
    violations.push(...violationsOfRead(read, adds, sureFrom))
    for (const element of answerOf(read)) {
      sureFrom.set(element, Math.min(sureFrom.get(element) ?? Infinity, read.endedAt))
    }
  }
  return violations
}

function acknowledgedAt(adds: ReadonlyMap<string, SetOperation>): Map<string, number> {
  const sureFrom = new Map<string, number>()
  for (const [element, { ending, endedAt }] of adds) {
    if (ending.kind === 'ok') sureFrom.set(element, endedAt)
  }
  return sureFrom
}

function violationsOfRead(
  read: SetOperation,
  adds: ReadonlyMap<string, SetOperation>,
  sureFrom: ReadonlyMap<string, number>,
): Violation[] {
  const seen = answerOf(read)
  const present = new Set(seen)
  const violations: Violation[] = []
  for (const [element, sureAt] of sureFrom) {
    if (sureAt >= read.invokedAt || present.has(element)) continue
    violations.push({ rule: 'lost', description: `${read.client} does not see ${element}` })
  }
  for (const element of present) {
    const add = adds.get(element)
    const isPossible =
      add !== undefined && add.ending.kind !== 'fail' && add.invokedAt < read.endedAt
    if (!isPossible) {
      violations.push({ rule: 'ghost', description: `${read.client} sees ${element}` })
    }
  }
  if (present.size < seen.length) {
    const description = `${read.client} sees ${seen.length - present.size} elements twice`
    violations.push({ rule: 'twice', description })
  }
  return violations
}

function answerOf({ ending }: SetOperation): SetAnswer {
  return ending.kind === 'ok' ? ending.answer : []
}
