import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { must } from '../../lib/assert.ts'

/** The script of a process, and its name for messages. */
export interface JobProcessOptions {
  /** A script that answers each message with one message, and ends when it is disconnected. */
  readonly script: string
  readonly name: string
}

/** A forked process that runs one job at a time. */
export class JobProcess<Job extends object, Answer> implements AsyncDisposable {
  readonly #name: string
  readonly #child: ChildProcess

  constructor({ script, name }: JobProcessOptions) {
    this.#name = name
    this.#child = fork(script)
  }

  async perform(job: Job): Promise<Answer> {
    const done = new AbortController()
    const ended = once(this.#child, 'exit', { signal: done.signal }).then(() => {
      throw new Error(`${this.#name} ended`)
    })
    ended.catch(() => undefined) // lost the race
    this.#child.send(job)
    try {
      const [answer]: Answer[] = await Promise.race([once(this.#child, 'message'), ended])
      return must(answer, `answer of ${this.#name}`)
    } finally {
      done.abort()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#child.connected) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}
