// Whether increments happened once: each is sent again under its idempotency key until it is answered.

import type { Operation, Violation } from './client-history.ts'

export type CounterCall =
  /** All attempts under one idempotency key are one operation. */
  { readonly kind: 'increment'; readonly by: number } | { readonly kind: 'read' }

/** What a read saw. An increment answers undefined. */
export type CounterAnswer = number | undefined

export type CounterOperation = Operation<CounterCall, CounterAnswer>

/**
 * For each read: `lost` if it saw less than what was acknowledged before it began, `more` if it saw
 * more than what can have happened before it ended.
 */
export function findCounterViolations(
  operations: readonly CounterOperation[],
): readonly Violation[] {
  const increments = operations.filter(({ call }) => call.kind === 'increment')
  return operations.flatMap(({ call, client, invokedAt, endedAt, ending }) => {
    if (call.kind !== 'read' || ending.kind !== 'ok') return []
    const seen = ending.answer ?? 0
    const least = sumOf(increments, (one) => one.ending.kind === 'ok' && one.endedAt < invokedAt)
    const most = sumOf(increments, (one) => one.ending.kind !== 'fail' && one.invokedAt < endedAt)
    const description = `${client} saw ${seen}, which is not in ${least} to ${most}`
    if (seen < least) return [{ rule: 'lost', description }]
    return seen > most ? [{ rule: 'more', description }] : []
  })
}

function sumOf(
  increments: readonly CounterOperation[],
  counts: (increment: CounterOperation) => boolean,
): number {
  return increments.filter(counts).reduce((sum, { call }) => {
    return sum + (call.kind === 'increment' ? call.by : 0)
  }, 0)
}
