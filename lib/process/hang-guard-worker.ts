// The thread of hang-guard.ts.
//
// It counts time in steps without a beat of the loop. When the machine sleeps or the process is
// stopped, this thread stops too, and one step at most passes.

import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { LOOP_CELLS } from '../loop-watch.ts'
import type { HangGuardSetup } from './hang-guard.ts'

const STEPS = 20
const STANDARD_ERROR = 2

const setup: HangGuardSetup = workerData
watch(setup)

function watch({ cells, names, hangMs }: HangGuardSetup): void {
  let beats = Atomics.load(cells, LOOP_CELLS.beats)
  let steps = 0
  while (Atomics.wait(cells, LOOP_CELLS.stop, 0, hangMs / STEPS) === 'timed-out') {
    const now = Atomics.load(cells, LOOP_CELLS.beats)
    steps = now === beats ? steps + 1 : 0
    beats = now
    if (steps < STEPS) continue
    tell(names[Atomics.load(cells, LOOP_CELLS.operation)], hangMs)
    process.kill(process.pid, 'SIGKILL')
    return
  }
}

/** Writes to the file descriptor, because the log's destination belongs to the loop that hangs. */
function tell(operation: string | undefined, hangMs: number): void {
  const msg = 'event loop hangs, the process ends'
  const time = new Date().toISOString()
  const line = { level: 'fatal', time, server: 'store', pid: process.pid, operation, hangMs, msg }
  writeSync(STANDARD_ERROR, `${JSON.stringify(line)}\n`)
}
