// An index worker from the inside: wires its parts together, nothing else.

import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import {
  clearAnswering,
  newAnsweringFlag,
  setAnswering,
  type AnsweringFlag,
} from '../host/answering-flag.ts'
import { QUESTIONS, type EngineFamilies } from '../host/index-engine.ts'
import { PooledDiskWork } from '../files/disk-work.ts'
import { IndexHost } from './index-host.ts'
import type {
  FromIndexWorker,
  IndexWorkerSettings,
  ToIndexWorker,
  ToldWorker,
} from '../host/protocol.ts'
import { SliceScheduler } from './slice-scheduler.ts'
import { SliceWatch } from './slice-watch.ts'
import { IndexWorkerLoop } from './worker-loop.ts'
import { WorkerProgress, type WorkerOperation, type WorkerWork } from '../host/worker-progress.ts'
import type { WorkerReport } from '../host/worker-report.ts'

const ANSWERS: ReadonlySet<WorkerOperation> = new Set([
  ...QUESTIONS,
  'divide',
  'answerSealed',
  'together',
])

/** Serves the thread that this one was started by, until it is ended. Throws outside of a worker. */
export function serveIndexes(families: EngineFamilies): void {
  const port = must(parentPort, 'the parent of a worker')
  const post = (message: FromIndexWorker<unknown>): void => port.postMessage(message)
  // It is this thread's parent that says it: no need to parse.
  const settings: IndexWorkerSettings = workerData
  const progress = new WorkerProgress(settings.progress)
  const slices = new SliceWatch({ clock: systemClock, cpuMs: threadCpuMs })
  const answering = newAnsweringFlag()
  const scheduler = buildScheduler({ progress, slices, answering })
  const host = new IndexHost({
    families,
    clock: systemClock,
    memoryBytesMax: settings.memoryBytesMax,
    disk: new PooledDiskWork(),
    answering,
    progress,
    onBroken: (index, error) => post({ kind: 'broken', index, error }),
    onUnsettled: () => loop.maintain(),
  })
  const report = async (): Promise<WorkerReport> => ({
    slices: await slices.report(),
    caches: host.caches(),
  })
  const loop = new IndexWorkerLoop({ host, scheduler, report, progress, post, onBug })
  port.on('message', (message: ToIndexWorker | ToldWorker) => loop.receive(message))
}

interface WatchedBy {
  readonly progress: WorkerProgress
  readonly slices: SliceWatch
  readonly answering: AnsweringFlag
}

function buildScheduler({ progress, slices, answering }: WatchedBy): SliceScheduler<WorkerWork> {
  return new SliceScheduler<WorkerWork>({
    clock: systemClock,
    onBegin: (work) => {
      if (work !== undefined) progress.begin(work)
      if (work !== undefined && ANSWERS.has(work.operation)) setAnswering(answering)
      slices.begin()
    },
    onEnd: ({ label }) => {
      slices.end(label?.operation ?? 'other')
      progress.pause()
      clearAnswering(answering)
    },
  })
}

/** Ends the thread, whatever calls it from here. */
function onBug(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
