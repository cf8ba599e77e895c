import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { must } from '../../lib/assert.ts'
import type { EngineAnswer, EngineJob, Measurement } from './engine-job.ts'
import type { TextQuery } from '../data/query-classes.ts'
import type { EngineName, TextAnswer } from '../peers/text-engine.ts'

const SCRIPT = path.join(import.meta.dirname, 'engine-process.ts')
/** MiniSearch keeps a million articles and their index in its heap; the others hardly use theirs. */
const HEAP_MIB = 12 * 1024

export interface EngineOptions {
  readonly engine: EngineName
  readonly directory: string
  readonly documents: number
  readonly seed: number
  /** For a profile of all that is asked after loading. */
  readonly profileDirectory: string | undefined
}

/** An engine in a process of its own; one question at a time. */
export class EngineClient implements AsyncDisposable {
  readonly name: EngineName
  #loadMs = 0
  readonly #child: ChildProcess
  readonly #killAtExit: () => void

  /** Resolves when the articles are loaded. */
  static async start(options: EngineOptions): Promise<EngineClient> {
    const client = new EngineClient(options)
    const answer = await client.#answer()
    if (answer.kind !== 'ready') throw client.#failure(answer)
    client.#loadMs = answer.loadMs
    return client
  }

  private constructor({ engine, directory, documents, seed, profileDirectory }: EngineOptions) {
    this.name = engine
    const args = [engine, directory, String(documents), String(seed)]
    if (profileDirectory !== undefined) args.push(profileDirectory)
    this.#child = fork(SCRIPT, args, { execArgv: [`--max-old-space-size=${HEAP_MIB}`] })
    this.#killAtExit = () => this.#child.kill('SIGKILL')
    process.once('exit', this.#killAtExit)
  }

  get loadMs(): number {
    return this.#loadMs
  }

  async measure(measurement: Measurement): Promise<readonly number[]> {
    const answer = await this.#ask({ kind: 'measure', ...measurement })
    if (answer.kind !== 'latencies') throw this.#failure(answer)
    return answer.latenciesMs
  }

  async answers(queries: readonly TextQuery[]): Promise<readonly TextAnswer[]> {
    const answer = await this.#ask({ kind: 'answer', queries })
    if (answer.kind !== 'answers') throw this.#failure(answer)
    return answer.answers
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#killAtExit)
    if (!this.#child.connected) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }

  #ask(job: EngineJob): Promise<EngineAnswer> {
    this.#child.send(job)
    return this.#answer()
  }

  async #answer(): Promise<EngineAnswer> {
    const done = new AbortController()
    const ended = once(this.#child, 'exit', { signal: done.signal }).then(() => {
      throw new Error(`the process of ${this.name} ended`)
    })
    ended.catch(() => undefined) // lost the race
    try {
      const [answer]: EngineAnswer[] = await Promise.race([once(this.#child, 'message'), ended])
      return must(answer, 'answer of an engine')
    } finally {
      done.abort()
    }
  }

  #failure(answer: EngineAnswer): Error {
    return new Error(`${this.name}: ${answer.kind === 'failure' ? answer.message : answer.kind}`)
  }
}
