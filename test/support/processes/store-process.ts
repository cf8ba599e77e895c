// The real store in its own process. bin/quarry starts it, and signals end it.
//
// Nothing outlives a test: `kill` and `stop` signal the process that serves (its log names its pid)
// and then wait until no process holds the output pipes, neither it nor a wrapper above it.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { must } from '../../../lib/assert.ts'

const BIN = path.resolve(import.meta.dirname, '../../../bin/quarry')
const LEAPING_DATE = new URL('leaping-date.ts', import.meta.url).href
const LOG_LINES_MAX = 200
/** The models of tests answer on this machine. */
const MODELS_HERE = { QUARRY_PROVIDER_HOSTS: '127.0.0.1' }

export interface StoreProcessOptions {
  readonly dataDir: string
  /** Whether `leap` may be called. */
  readonly leapingClock?: boolean
  readonly env?: Readonly<Record<string, string>>
  /** A command with arguments that runs the store, and ends with it as it ended. */
  readonly under?: readonly string[]
  /** Instead of the one here. */
  readonly bin?: string
  /** The command and its own options. Default: `swarm`. */
  readonly command?: readonly string[]
}

export interface Ending {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of standard error. */
  readonly log: string
}

export class StoreProcess implements AsyncDisposable {
  readonly api: string
  readonly health: string
  readonly pid: number
  readonly #launch: Launch

  private constructor(launch: Launch, ready: Ready, pid: number) {
    this.#launch = launch
    this.api = ready.api
    this.health = ready.health
    this.pid = pid
  }

  /** Resolves once the store says that it is ready; rejects with its log if it ends instead. */
  static async start(options: StoreProcessOptions): Promise<StoreProcess> {
    const launch = new Launch(options)
    const [ready, pid] = await Promise.race([
      Promise.all([launch.ready, launch.servingPid]),
      launch.ended.then((ending) => {
        throw new Error(`the store ended before it was ready (${JSON.stringify(ending)})`)
      }),
    ])
    return new StoreProcess(launch, ready, pid)
  }

  /** Resolves when the process has ended, for whatever reason. */
  get ended(): Promise<Ending> {
    return this.#launch.ended
  }

  /** The last lines of standard error, so far. */
  get log(): string {
    return this.#launch.log.join('\n')
  }

  /** SIGKILL: no handler runs, no buffer is flushed. */
  kill(): Promise<Ending> {
    return this.#signal('SIGKILL')
  }

  /** Makes the wall clock of the process leap, hours ahead or back. */
  leap(): void {
    if (this.#launch.isRunning()) process.kill(this.pid, 'SIGUSR2')
  }

  /** SIGTERM: the orderly end. */
  stop(): Promise<Ending> {
    return this.#signal('SIGTERM')
  }

  /** SIGTERM, and SIGKILL in the middle of the orderly end, unless that is over by then. */
  async stopAndKill(afterMs: number): Promise<Ending> {
    const timer = setTimeout(() => void this.kill(), afterMs)
    const ending = await this.stop()
    clearTimeout(timer)
    return ending
  }

  /** Memory that the process holds now. */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }

  /** SIGHUP: it loads its files again. */
  hangUp(): void {
    if (this.#launch.isRunning()) process.kill(this.pid, 'SIGHUP')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  #signal(signal: NodeJS.Signals): Promise<Ending> {
    if (this.#launch.isRunning()) process.kill(this.pid, signal)
    return this.#launch.ended
  }
}

/** Starts the store to see it fail. */
export async function failedStart(options: StoreProcessOptions): Promise<Ending> {
  const launch = new Launch(options)
  const started = launch.ready.then(() => launch.kill())
  const ending = await launch.ended
  await Promise.race([started, launch.ended])
  return ending
}

/** Starts the store and kills it `afterMs` later, most likely in the middle of its start. */
export async function killedStart(options: StoreProcessOptions, afterMs: number): Promise<Ending> {
  const launch = new Launch(options)
  const timer = setTimeout(() => launch.kill(), afterMs)
  const ending = await launch.ended
  clearTimeout(timer)
  return ending
}

interface Ready {
  readonly api: string
  readonly health: string
}

class Launch {
  readonly ready: Promise<Ready>
  readonly servingPid: Promise<number>
  readonly ended: Promise<Ending>
  readonly log: string[] = []
  readonly #child: ChildProcess

  constructor(options: StoreProcessOptions) {
    const { dataDir, leapingClock = false, env = {}, under = [], bin = BIN } = options
    const { command = ['swarm'] } = options
    const preloads = leapingClock ? { NODE_OPTIONS: `--import ${LEAPING_DATE}` } : {}
    const anyPort = command.includes('--api-port') ? [] : ['--api-port', '0']
    const args = [...command, '--data-dir', dataDir, ...anyPort, '--health-port', '0']
    const [program = '', ...rest] = [...under, process.execPath, bin, ...args]
    this.#child = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      // The store ends itself when this pipe closes: should the test be killed, it dies as well.
      env: { ...process.env, ...MODELS_HERE, QUARRY_PARENT_PIPE: '3', ...preloads, ...env },
    })
    this.ready = firstLine(must(this.#child.stdout, 'a pipe'), readyOf)
    this.servingPid = firstLine(
      must(this.#child.stderr, 'a pipe'),
      ({ pid }) => numberOf(pid),
      this.log,
    )
    this.ended = endOf(this.#child, this.log)
  }

  isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  kill(): void {
    if (this.isRunning()) this.#child.kill('SIGKILL')
  }
}

type Line = Readonly<Record<string, unknown>>

/** What `read` makes of the first line of JSON that it understands; never settles without one. */
function firstLine<Found>(
  input: Readable,
  read: (line: Line) => Found | undefined,
  log: string[] = [],
): Promise<Found> {
  return new Promise((resolve) => {
    createInterface({ input }).on('line', (text) => {
      log.push(text)
      if (log.length > LOG_LINES_MAX) log.shift()
      const found = read(parseJson(text) ?? {})
      if (found !== undefined) resolve(found)
    })
  })
}

function readyOf({ event, api, health }: Line): Ready | undefined {
  if (event !== 'ready' || typeof api !== 'string' || typeof health !== 'string') return undefined
  return { api, health }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function parseJson(text: string): Line | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** 'close' comes after the exit, and when no process holds the pipes any more. */
async function endOf(child: ChildProcess, log: readonly string[]): Promise<Ending> {
  const [exitCode, signal] = await once(child, 'close')
  return { exitCode, signal, log: log.join('\n') }
}
