import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Job, JobAnswer, LoadJob, LoadResult, ScanJob, ScanResult } from './load-job.ts'

const SCRIPT = path.join(import.meta.dirname, 'generator-process.ts')

/** The load generator, in a process of its own; it ends when this process does. */
export class LoadGenerator implements AsyncDisposable {
  readonly #child: ChildProcess = fork(SCRIPT)

  load(job: Omit<LoadJob, 'kind'>): Promise<LoadResult> {
    return this.#run({ kind: 'load', ...job }) as Promise<LoadResult>
  }

  scan(job: Omit<ScanJob, 'kind'>): Promise<ScanResult> {
    return this.#run({ kind: 'scan', ...job }) as Promise<ScanResult>
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#child.connected) return
    const closed = once(this.#child, 'close')
    this.#child.disconnect()
    await closed
  }

  async #run(job: Job): Promise<LoadResult | ScanResult> {
    const done = new AbortController()
    const ended = once(this.#child, 'close', { signal: done.signal }).then(() => {
      throw new Error('the load generator ended')
    })
    ended.catch(() => undefined) // lost the race
    this.#child.send(job)
    try {
      const [answer]: JobAnswer[] = await Promise.race([once(this.#child, 'message'), ended])
      if (answer?.kind !== 'result') throw new Error(`load generator: ${answer?.message}`)
      return answer.result
    } finally {
      done.abort()
    }
  }
}
