// The entry of an index worker: calls in, answers out. Questions are answered as they come; calls
// that change an index are carried out one after the other, in slices, so that no question waits
// longer than a slice; and half of the slices go to maintenance, as long as there is any.

import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import { TextMemory } from '../engine/text-memory.ts'
import type { FromTextWorker, TextWorkerSettings, ToTextWorker } from './protocol.ts'
import { TextIndexHost, isQuestion } from './text-index-host.ts'

/** What a search waits for that comes during a slice; a step may overdraw it. */
const SLICE_MS = 2

const port = must(parentPort, 'the parent of a worker')
const post = (message: FromTextWorker<unknown>): void => port.postMessage(message)
// It is this thread's parent that says it: no need to parse.
const settings: TextWorkerSettings = workerData
const host = new TextIndexHost({
  clock: systemClock,
  memory: new TextMemory(settings.memoryBytesMax),
  onBroken: (index, error) => post({ kind: 'broken', index, error }),
})

interface Task {
  readonly id: number
  readonly work: Generator<void, unknown>
}

/** At most one call for each index, and a handful while indexes open and close. */
const tasks: Task[] = []
let isScheduled = false

port.on('message', (message: ToTextWorker) => {
  const task = { id: message.id, work: host.handle(message) }
  if (isQuestion(message.kind)) while (!advance(task));
  else tasks.push(task)
  schedule()
})

/** Messages that arrived meanwhile come before the next slice. */
function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    workOnTasks()
    const hasMore = host.maintain(SLICE_MS)
    if (hasMore || tasks.length > 0) schedule()
  })
}

function workOnTasks(): void {
  const endMs = systemClock.monotonicMs() + SLICE_MS
  for (let task = tasks[0]; task !== undefined; task = tasks[0]) {
    if (advance(task)) tasks.shift()
    if (systemClock.monotonicMs() >= endMs) return
  }
}

/** One step; answers whether it was the last, and the call when it was. */
function advance({ id, work }: Task): boolean {
  try {
    const step = work.next()
    if (step.done !== true) return false
    post({ kind: 'answer', id, answer: step.value })
  } catch (error) {
    if (!isServiceError(error)) throw error
    post({ kind: 'refusal', id, error: { code: error.code, message: error.message } })
  }
  return true
}
