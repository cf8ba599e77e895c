// Tells other threads whether a worker is answering a question just now, so that what they do for its indexes can give
// way. It is set for each slice: a question that is given up leaves nothing behind.

/** Not 0: a question is being answered. */
export type AnsweringFlag = Int32Array<SharedArrayBuffer>

export function newAnsweringFlag(): AnsweringFlag {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** By the worker, before a slice of a question. */
export function setAnswering(flag: AnsweringFlag): void {
  Atomics.store(flag, 0, 1)
}

/** By the worker, after a slice: it wakes the threads that wait. */
export function clearAnswering(flag: AnsweringFlag): void {
  if (Atomics.exchange(flag, 0, 0) !== 0) Atomics.notify(flag, 0)
}

/** By another thread: waits while a question is being answered, at most for `ms`. */
export function waitWhileAnswering(flag: AnsweringFlag, ms: number): void {
  Atomics.wait(flag, 0, 1, ms)
}

export function isAnswering(flag: AnsweringFlag): boolean {
  return Atomics.load(flag, 0) !== 0
}
