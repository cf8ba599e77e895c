// Starts a server under test or a peer. Its first line of output says that it serves.

import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { must } from '../lib/assert.ts'

/** How to start a process. `name` is for messages. */
export interface ChildOptions {
  readonly name: string
  /** Default: node. */
  readonly command?: string
  /** The arguments of the command. Of node: its own options, the script, and the script's arguments. */
  readonly args: readonly string[]
}

export type FirstLine = Readonly<Record<string, unknown>>

/** A process that has said that it serves. Disposing it kills it if it still runs. */
export class ReadyProcess implements AsyncDisposable {
  readonly #name: string
  readonly #child: ChildProcessByStdio<null, Readable, null>
  readonly #closed: Promise<unknown>
  readonly #killAtExit: () => void

  /** Resolves with the process and the JSON object of its first line. */
  static async start(options: ChildOptions): Promise<[ReadyProcess, FirstLine]> {
    const process = new ReadyProcess(options)
    return [process, await process.#firstLine()]
  }

  private constructor({ name, command = process.execPath, args }: ChildOptions) {
    this.#name = name
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#closed = once(this.#child, 'close')
    this.#killAtExit = () => this.#child.kill('SIGKILL')
    process.once('exit', this.#killAtExit)
  }

  get pid(): number {
    return must(this.#child.pid, `process id of ${this.#name}`)
  }

  /** Ends the process in order. Throws if its exit code shows a failure. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.finished()
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#closed
    process.off('exit', this.#killAtExit)
  }

  /** Waits until the process ends by itself. */
  async finished(): Promise<void> {
    await this.#closed
    process.off('exit', this.#killAtExit)
    if (this.#child.exitCode !== 0) throw this.#failure('did not end well')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop()
  }

  async #firstLine(): Promise<FirstLine> {
    const lines = createInterface({ input: this.#child.stdout })
    const ended = this.#closed.then(() => {
      throw this.#failure('ended before it was ready')
    })
    const [line] = await Promise.race([once(lines, 'line'), ended])
    ended.catch(() => undefined) // from here on `finished` reports the end
    return JSON.parse(String(line))
  }

  #failure(what: string): Error {
    const { exitCode, signalCode } = this.#child
    return new Error(`${this.#name} ${what} (${signalCode ?? exitCode})`)
  }
}
