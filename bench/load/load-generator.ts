import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { must } from '../../lib/assert.ts'
import type { Job, JobAnswer, LoadJob, LoadResult, ScanJob, ScanResult } from './load-job.ts'

const SCRIPT = path.join(import.meta.dirname, 'generator-process.ts')

/**
 * The load generator, in a process of its own; it ends when this process does. Jobs that are given at once run one
 * after the other, so that no load takes processor time from another one that is measured.
 */
export class LoadGenerator implements AsyncDisposable {
  readonly #child: ChildProcess = fork(SCRIPT)
  #last: Promise<unknown> = Promise.resolve()

  async load(job: Omit<LoadJob, 'kind'>): Promise<LoadResult> {
    const answer = await this.#run({ kind: 'load', ...job })
    if (answer.kind !== 'load') throw failureOf(answer)
    return answer.result
  }

  async scan(job: Omit<ScanJob, 'kind'>): Promise<ScanResult> {
    const answer = await this.#run({ kind: 'scan', ...job })
    if (answer.kind !== 'scan') throw failureOf(answer)
    return answer.result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#child.connected) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }

  #run(job: Job): Promise<JobAnswer> {
    const run = this.#last.then(() => this.#runNow(job))
    this.#last = run.catch(() => undefined) // its caller gets the error; the next job runs
    return run
  }

  async #runNow(job: Job): Promise<JobAnswer> {
    const done = new AbortController()
    const ended = once(this.#child, 'exit', { signal: done.signal }).then(() => {
      throw new Error('the load generator ended')
    })
    ended.catch(() => undefined) // lost the race
    this.#child.send(job)
    try {
      const [answer]: JobAnswer[] = await Promise.race([once(this.#child, 'message'), ended])
      return must(answer, 'answer of the load generator')
    } finally {
      done.abort()
    }
  }
}

function failureOf(answer: JobAnswer): Error {
  return new Error(`load generator: ${answer.kind === 'failure' ? answer.message : answer.kind}`)
}
