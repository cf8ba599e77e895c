// The entry of an index worker: wires its parts together, nothing else.

import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { TextMemory } from '../engine/text-memory.ts'
import type { FromTextWorker, TextWorkerSettings, ToTextWorker } from './protocol.ts'
import { SliceScheduler } from './slice-scheduler.ts'
import { SliceWatch } from './slice-watch.ts'
import { TextIndexHost } from './text-index-host.ts'
import { TextWorkerLoop } from './text-worker-loop.ts'
import { WorkerProgress, type WorkerWork } from './worker-progress.ts'
import { cachesOf, type WorkerReport } from './worker-report.ts'

const port = must(parentPort, 'the parent of a worker')
const post = (message: FromTextWorker<unknown>): void => port.postMessage(message)
// It is this thread's parent that says it: no need to parse.
const settings: TextWorkerSettings = workerData

const progress = new WorkerProgress(settings.progress)
const slices = new SliceWatch({ clock: systemClock, cpuMs: threadCpuMs })
const scheduler = new SliceScheduler<WorkerWork>({
  clock: systemClock,
  onBegin: (work) => {
    if (work !== undefined) progress.begin(work)
    slices.begin()
  },
  onEnd: ({ label }) => {
    slices.end(label?.operation ?? 'other')
    progress.pause()
  },
})
const memory = new TextMemory(settings.memoryBytesMax)
const host = new TextIndexHost({
  clock: systemClock,
  memory,
  progress,
  onBroken: (index, error) => post({ kind: 'broken', index, error }),
})
const onBug = (error: unknown): void => {
  setImmediate(() => {
    throw error
  })
}
const report = async (): Promise<WorkerReport> => ({
  slices: await slices.report(),
  caches: cachesOf(memory),
})
const loop = new TextWorkerLoop({ host, scheduler, report, progress, post, onBug })

port.on('message', (message: ToTextWorker) => loop.receive(message))

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
