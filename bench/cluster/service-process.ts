// A program that says nothing when it is ready: etcd and PostgreSQL.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'

const READY_MAX_MS = 30_000
const POLL_MS = 50
const LOG_BYTES_MAX = 4000

/** Who runs a program; absent: the user of this process. */
export interface ProcessUser {
  readonly uid?: number
  readonly gid?: number
}

/** A program with its arguments. */
export interface ServiceCommand extends ProcessUser {
  readonly command: string
  readonly args: readonly string[]
  /** Ends it in order. */
  readonly endSignal?: NodeJS.Signals
}

/** A running program. Disposing it ends it; it ends with this process in any case. */
export class ServiceProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  readonly #endSignal: NodeJS.Signals
  readonly #command: string
  readonly #killAtExit = (): void => void this.#child.kill('SIGKILL')
  #log = ''

  constructor({ command, args, endSignal = 'SIGTERM', ...user }: ServiceCommand) {
    this.#command = command
    this.#endSignal = endSignal
    this.#child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], ...user })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#log = `${this.#log}${chunk.toString('utf8')}`.slice(-LOG_BYTES_MAX)
    })
    this.#closed = once(this.#child, 'close')
    this.#closed.catch(() => undefined) // `ready` and `run` tell of it
    process.once('exit', this.#killAtExit)
  }

  get pid(): number {
    return must(this.#child.pid, `process id of ${this.#command}`)
  }

  /** Resolves when `probe` does not throw any more. */
  async ready(clock: Clock, probe: () => Promise<unknown>): Promise<void> {
    const untilMs = clock.monotonicMs() + READY_MAX_MS
    for (;;) {
      try {
        await probe()
        return
      } catch (error) {
        const isOver = this.#child.exitCode !== null || clock.monotonicMs() > untilMs
        if (isOver) throw new Error(this.#tell(messageOf(error)), { cause: error })
      }
      await clock.sleep(POLL_MS)
    }
  }

  /** Resolves when it has ended well. */
  async finished(): Promise<void> {
    await this.#closed
    process.off('exit', this.#killAtExit)
    if (this.#child.exitCode !== 0) throw new Error(this.#tell('ended'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#killAtExit)
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill(this.#endSignal)
    await this.#closed
  }

  #tell(what: string): string {
    const { exitCode, signalCode } = this.#child
    return `${this.#command}: ${what} (${signalCode ?? exitCode})\n${this.#log}`
  }
}

/** Runs a program to its end. */
export function runProgram(command: ServiceCommand): Promise<void> {
  return new ServiceProcess(command).finished()
}

/** Ports that nobody listens on now. All are held at once, so that they differ. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => {
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  })
  for (const server of servers) server.close()
  await Promise.all(servers.map((server) => once(server, 'close')))
  return ports
}
