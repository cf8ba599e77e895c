// One node of the cluster under test, as a process on a machine of its own.

import { cp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { failing, type SyscallFault } from '../processes/syscall-faults.ts'
import {
  killedStart,
  StoreProcess,
  type Ending,
  type StoreProcessOptions,
} from '../processes/store-process.ts'
import type { Machine } from './lab-network.ts'

const PEER_PORT = 7400
/** A start that recovers much and waits for etcd on a busy machine takes minutes; one that takes longer is stuck. */
const START_LIMIT_MS = 600_000
/** Sources that were compiled once: a start takes half the time. Processes that end in order write it. */
const COMPILED = { NODE_COMPILE_CACHE: path.join(tmpdir(), 'quarry-lab-compiled') }

export interface LabNodeOptions {
  readonly dataDir: string
  /** All of them, so that a node can move. */
  readonly etcd: readonly string[]
  readonly secretFile: string
}

/** How a start differs from the usual one. */
export interface StartOptions {
  /** Environment of the process. */
  readonly env?: Readonly<Record<string, string>>
  /** Runs the node under strace. */
  readonly fault?: SyscallFault
  /** A command with arguments that runs the node, and ends with it. */
  readonly under?: readonly string[]
}

/** Its directory stays when its process ends. */
export class LabNode {
  readonly name: string
  readonly #options: LabNodeOptions
  #machine: Machine
  #process: StoreProcess | undefined
  /** Where clients reach it instead, while that is set. */
  door: string | undefined
  /** What it wrote before it ended last. */
  lastLog = ''
  kills = 0
  servingKills = 0

  constructor(name: string, machine: Machine, options: LabNodeOptions) {
    this.name = name
    this.#machine = machine
    this.#options = options
  }

  get machine(): Machine {
    return this.#machine
  }

  get dataDir(): string {
    return this.#options.dataDir
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  get process(): StoreProcess {
    return must(this.#process, `the process of ${this.name}`)
  }

  /** The URL of the API while it runs. */
  get api(): string | undefined {
    return this.door ?? this.#process?.api
  }

  get log(): string {
    return this.#process?.log ?? this.lastLog
  }

  /** The id by which the cluster knows it. */
  async id(): Promise<string> {
    return JSON.parse(await readFile(path.join(this.dataDir, 'format.json'), 'utf8')).id
  }

  /** Resolves when it serves. */
  async start(options: StartOptions = {}): Promise<void> {
    const over = new AbortController()
    const late = systemClock.sleep(START_LIMIT_MS, over.signal).then(() => {
      throw new Error(`${this.name} does not serve after ${START_LIMIT_MS} ms`)
    })
    late.catch(() => undefined) // it started
    const starting = StoreProcess.start(this.#storeOptions(options))
    const started = await Promise.race([starting, late]).finally(() => over.abort())
    this.#process = started
    void started.ended.then((ending) => this.#ended(started, ending))
  }

  /** Starts it and kills it so much later, wherever it is then. */
  async startAndKill(afterMs: number): Promise<void> {
    this.kills += 1
    const { log } = await killedStart(this.#storeOptions({}), afterMs)
    this.lastLog = log
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const { isRunning } = this
    if (!isRunning) return
    this.kills += 1
    this.servingKills += 1
    await this.process.kill()
  }

  /** SIGTERM: it hands its leaderships over first. */
  stop(): Promise<Ending> {
    return this.process.stop()
  }

  pause(): void {
    if (this.isRunning) process.kill(this.process.pid, 'SIGSTOP')
  }

  resume(): void {
    if (this.isRunning) process.kill(this.process.pid, 'SIGCONT')
  }

  /** Another address from the next start on. */
  moveTo(machine: Machine): void {
    this.#machine = machine
  }

  async deleteData(): Promise<void> {
    await rm(this.dataDir, { recursive: true, force: true })
  }

  /** Keeps a copy of its directory, as a snapshot of its volume does. */
  async copyData(): Promise<void> {
    await rm(this.#copy, { recursive: true, force: true })
    await cp(this.dataDir, this.#copy, { recursive: true })
  }

  /** The copy takes the place of its directory. */
  async restoreData(): Promise<void> {
    await this.deleteData()
    await rename(this.#copy, this.dataDir)
  }

  get #copy(): string {
    return `${this.dataDir}.copy`
  }

  #storeOptions({ env = {}, fault, under = [] }: StartOptions): StoreProcessOptions {
    const strace = fault === undefined ? [] : failing(fault)
    return {
      dataDir: this.dataDir,
      command: this.#command,
      under: [...this.#machine.under, ...under, ...strace],
      env: { ...COMPILED, ...env },
    }
  }

  get #command(): readonly string[] {
    const { address } = this.#machine
    const { etcd, secretFile } = this.#options
    const joins = [
      '--cluster',
      'lab',
      '--etcd',
      etcd.join(','),
      '--cluster-secret-file',
      secretFile,
    ]
    const peers = ['--peer-host', address, '--peer-port', String(PEER_PORT)]
    return ['node', ...joins, ...peers, '--host', address, '--insecure', '--log-level', 'info']
  }

  #ended(process: StoreProcess, ending: Ending): void {
    this.lastLog = ending.log
    if (this.#process === process) this.#process = undefined
  }
}
