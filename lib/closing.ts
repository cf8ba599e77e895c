/**
 * Does the steps of `work`, which has something open. Calls `close` unless they come to their end: they may fail, or be
 * left by their caller.
 */
export function* closedUnlessDone<Wait, Result>(
  work: Generator<Wait, Result, undefined>,
  close: () => void,
): Generator<Wait, Result, undefined> {
  let isDone = false
  try {
    const result = yield* work
    isDone = true
    return result
  } finally {
    if (!isDone) close()
  }
}
