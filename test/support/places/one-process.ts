import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { killedStart, StoreProcess } from '../processes/store-process.ts'
import { StoreClient } from '../servers/store-client.ts'
import type { KillableStore, PlaceEnding, StorePlace } from './store-under-test.ts'

/** Swarm mode: `quarry swarm` in a process of its own. */
export const ONE_PROCESS: StorePlace<KillableStore> = {
  name: 'one process',
  open: () => OneProcess.open(),
}

class OneProcess implements KillableStore {
  readonly survives = false
  readonly dataDirs: readonly string[]
  readonly #folder: string
  readonly #dataDir: string
  #process: StoreProcess | undefined

  private constructor(folder: string) {
    this.#folder = folder
    this.#dataDir = path.join(folder, 'data')
    this.dataDirs = [this.#dataDir]
  }

  static async open(): Promise<OneProcess> {
    const store = new OneProcess(await mkdtemp(path.join(tmpdir(), 'quarry-store-')))
    try {
      await store.start()
      return store
    } catch (error) {
      await store[Symbol.asyncDispose]()
      throw error
    }
  }

  get api(): string {
    return this.#running.api
  }

  get apis(): readonly string[] {
    return [this.api]
  }

  get health(): readonly string[] {
    return [this.#running.health]
  }

  get log(): string {
    return this.#process?.log ?? ''
  }

  async start(): Promise<void> {
    this.#process = await StoreProcess.start({ dataDir: this.#dataDir, leapingClock: true })
  }

  async stop(): Promise<PlaceEnding> {
    const { exitCode, log } = await this.#running.stop()
    return { exitCodes: [exitCode], log }
  }

  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  killSome(): Promise<void> {
    return this.kill()
  }

  leap(): void {
    this.#running.leap()
  }

  async stopAndKill(afterMs: number): Promise<void> {
    await this.#running.stopAndKill(afterMs)
  }

  async startAndKill(afterMs: number): Promise<void> {
    await killedStart({ dataDir: this.#dataDir }, afterMs)
  }

  connect(): StoreClient {
    return new StoreClient(() => this.api)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await rm(this.#folder, { recursive: true, force: true })
  }

  get #running(): StoreProcess {
    return must(this.#process, 'a process that was started')
  }
}
