// The process of the load generator. It receives one job at a time as a message, and sends its answer.

import { systemClock } from '../../lib/clock.ts'
import type { Job, JobAnswer } from './load-job.ts'
import { runJob } from './run-job.ts'

process.on('message', (job: Job) => {
  void answer(job).then((reply) => process.send?.(reply))
})
process.on('disconnect', () => process.exit())

async function answer(job: Job): Promise<JobAnswer> {
  try {
    return await runJob(job, systemClock)
  } catch (error) {
    return { kind: 'failure', message: String(error) }
  }
}
