// Work whose caller waits until it settles or until `ms` have passed. The timer ends with the work.

import type { Clock } from './clock.ts'

/**
 * Settles as the work does. Calls `onLate` once, when `ms` have passed before that: it usually makes
 * the work end.
 */
export async function prodWhenLate<Value>(
  work: Promise<Value>,
  {
    clock,
    ms,
    onLate,
  }: { readonly clock: Clock; readonly ms: number; readonly onLate: () => void },
): Promise<Value> {
  const settled = new AbortController()
  const late = clock.sleep(ms, settled.signal).then(onLate, () => undefined)
  try {
    return await work
  } finally {
    settled.abort()
    await late
  }
}

/** What the work answers, or undefined when `ms` have passed or the work has failed. */
export async function answerWithin<Value>(
  work: Promise<Value>,
  { clock, ms }: { readonly clock: Clock; readonly ms: number },
): Promise<Value | undefined> {
  const settled = new AbortController()
  const late = clock.sleep(ms, settled.signal).then(
    () => undefined,
    () => undefined,
  )
  try {
    return await Promise.race([work, late])
  } catch {
    return undefined
  } finally {
    settled.abort()
  }
}
