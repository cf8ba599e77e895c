// The entry of a thread that makes graphs or lists, one after the other.

import { rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { diskErrorCode } from '../../../../lib/disk-error.ts'
import { isServiceError, messageOf, ServiceError } from '../../../../lib/errors.ts'
import { sentError } from '../../../../lib/worker-calls.ts'
import type { BuilderData, PostedJob, PostedOutcome } from './builder-thread.ts'
import { GiveWay } from './give-way.ts'
import { buildGraph, type BuiltGraph } from './graph-job.ts'

const port = must(parentPort, 'a parent')
// It is this thread's parent that says it: no need to parse.
const { answering }: BuilderData = workerData

// Searches and writes come first, but where they fill all cores a build still has a tenth of one: rows without a graph
// would make each search slower. On Linux this is about the calling thread alone, and the libraries work in it too; other
// systems know no threads here, and lowering the whole process would help nobody.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

port.on('message', (posted: PostedJob) => port.postMessage(outcomeOf(posted)))

function outcomeOf({ id, job, stop }: PostedJob): PostedOutcome {
  try {
    const work = buildGraph(job)
    const giveWay = new GiveWay({ flag: answering, clock: systemClock })
    for (;;) {
      giveWay.pause()
      if (Atomics.load(stop, 0) !== 0) throw new ServiceError('CANCELLED', 'the graph was given up')
      const step = work.next()
      if (step.done === true) return builtOf(id, step.value)
    }
  } catch (error) {
    for (const file of Object.values(job.files)) rmSync(file, { force: true })
    return { id, kind: 'failed', error: sentError(serviceErrorOf(error)) }
  }
}

function builtOf(id: number, built: BuiltGraph): PostedOutcome {
  return { id, kind: 'built', built }
}

function serviceErrorOf(error: unknown): ServiceError {
  if (isServiceError(error)) return error
  return new ServiceError(diskErrorCode(error) ?? 'INTERNAL', messageOf(error), { cause: error })
}
