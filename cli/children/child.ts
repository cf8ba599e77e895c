// A process of the cluster: its lines, its end, and how it is ended.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Env } from '../../lib/env.ts'

const TAIL_LINES = 12
/** Where a child finds the reading end of the pipe that closes with this process: see bin/quarry. */
const PARENT_PIPE = 3

/** A program with its arguments. */
export interface ChildCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Env
}

/** What a child says, line by line. */
export interface ChildListener {
  onOutput(line: string): void
  onLog(line: string): void
}

/**
 * A running child.
 *
 * Contract:
 * - It is in a process group of its own, so that Ctrl-C in a terminal reaches this process alone, which ends
 *   its children in order.
 * - `ended` resolves with a sentence part such as `ended with code 1`, also if it could not be started.
 * - `terminate` asks it to end, and answers what `ended` does. `kill` does not ask.
 * - A quarry process ends by itself when this process has gone.
 */
export class Child {
  readonly name: string
  readonly ended: Promise<string>
  readonly #process: ChildProcess
  readonly #tail: string[] = []
  #isRunning = true

  constructor(name: string, { command, args, env }: ChildCommand, listener: ChildListener) {
    this.name = name
    this.#process = spawn(command, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...env, QUARRY_PARENT_PIPE: String(PARENT_PIPE) },
    })
    this.#process.stdio[PARENT_PIPE]?.on('error', () => undefined) // the child has ended
    this.ended = this.#watchEnd()
    this.#read(this.#process.stdout, (line) => listener.onOutput(line))
    this.#read(this.#process.stderr, (line) => listener.onLog(line))
  }

  /** Undefined if it could not be started. */
  get pid(): number | undefined {
    return this.#process.pid
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** The last lines that it has written. */
  get tail(): readonly string[] {
    return this.#tail
  }

  terminate(): Promise<string> {
    this.#process.kill('SIGTERM')
    return this.ended
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  #read(stream: Readable | null, onLine: (line: string) => void): void {
    if (stream === null) return
    createInterface({ input: stream }).on('line', (line) => {
      this.#tail.push(line)
      if (this.#tail.length > TAIL_LINES) this.#tail.shift()
      onLine(line)
    })
  }

  #watchEnd(): Promise<string> {
    return new Promise((resolve) => {
      const end = (how: string): void => {
        this.#isRunning = false
        resolve(how)
      }
      this.#process.once('error', ({ message }) => end(`could not be started: ${message}`))
      // "close" comes when its last lines were read as well.
      this.#process.once('close', (code, signal) => {
        end(signal === null ? `ended with code ${code}` : `was ended by ${signal}`)
      })
    })
  }
}
