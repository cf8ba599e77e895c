// Ends a process whose event loop hangs. Such a process answers no request and cannot end itself,
// but a supervisor sees it as alive. A separate thread reads the loop's beats in shared memory.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LOOP_CELLS, type LoopWatch } from '../loop-watch.ts'

/** The setup that the guard's thread receives. */
export interface HangGuardSetup {
  readonly cells: Int32Array
  readonly names: readonly string[]
  readonly hangMs: number
}

/**
 * Guards the loop of a running watch. With `hangMs` 0 it guards nothing. Answers the function that
 * stops it.
 */
export function guardLoop({ cells, names }: LoopWatch, hangMs: number): () => Promise<void> {
  if (hangMs === 0) return async () => undefined
  const workerData: HangGuardSetup = { cells, names, hangMs }
  const worker = new Worker(new URL('hang-guard-worker.ts', import.meta.url), { workerData })
  worker.unref()
  return async () => {
    Atomics.store(cells, LOOP_CELLS.stop, 1)
    Atomics.notify(cells, LOOP_CELLS.stop)
    worker.ref()
    if (worker.threadId !== -1) await once(worker, 'exit')
  }
}
