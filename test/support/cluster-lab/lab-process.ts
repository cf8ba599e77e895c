// A program in the background that says on standard error when it is ready.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { must } from '../../../lib/assert.ts'

const LOG_LINES_MAX = 100

export interface LabProgram {
  readonly command: readonly string[]
  readonly ready: RegExp
  readonly env?: Readonly<Record<string, string>>
}

/** It can be started again after its end. The kernel ends it with this process. */
export class LabProcess {
  readonly #program: LabProgram
  #child: ChildProcess | undefined
  #log: string[] = []

  constructor(program: LabProgram) {
    this.#program = program
  }

  get isRunning(): boolean {
    const child = this.#child
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }

  /** The last lines of standard error. */
  get log(): string {
    return this.#log.join('\n')
  }

  async start(): Promise<void> {
    const { command, ready, env } = this.#program
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#child = child
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: must(child.stderr, 'a pipe') }).on('line', (line) => {
        this.#log.push(line)
        if (this.#log.length > LOG_LINES_MAX) this.#log.shift()
        if (ready.test(line)) resolve()
      })
      const fail = (why: string): void =>
        reject(new Error(`${command.join(' ')}: ${why}\n${this.log}`))
      child.once('error', ({ message }) => fail(message))
      child.once('exit', (code, signal) => fail(`ended with ${code ?? signal}`))
    })
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#child?.kill(signal)
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return
    const ended = once(must(this.#child, 'a child'), 'exit')
    this.signal('SIGKILL')
    await ended
  }
}
