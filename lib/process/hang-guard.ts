// Ends a process whose event loop hangs: it can answer nobody and end itself no more, and whoever
// started it sees it alive. A thread of its own looks at the loop's beats in shared memory.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LOOP_CELLS, type LoopWatch } from '../loop-watch.ts'

export interface HangGuardSetup {
  readonly cells: Int32Array
  readonly names: readonly string[]
  readonly hangMs: number
}

/** The watch has to be running. `hangMs` of 0 guards nothing. Answers how to stop. */
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
