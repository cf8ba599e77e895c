import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { parseNodeConfig } from '../../../node/config.ts'
import { startNode, type RunningNode } from '../../../node/main.ts'
import type { PlaceEnding, StorePlace, StoreUnderTest } from './store-under-test.ts'

/** Swarm mode in the process of the tests, which starts quickly. */
export const THIS_PROCESS: StorePlace = {
  name: 'this process',
  open: () => ThisProcess.open(),
}

class ThisProcess implements StoreUnderTest {
  readonly dataDirs: readonly string[]
  readonly #folder: string
  readonly #dataDir: string
  #node: RunningNode | undefined

  private constructor(folder: string) {
    this.#folder = folder
    this.#dataDir = path.join(folder, 'data')
    this.dataDirs = [this.#dataDir]
  }

  static async open(): Promise<ThisProcess> {
    const store = new ThisProcess(await mkdtemp(path.join(tmpdir(), 'quarry-store-')))
    await store.start()
    return store
  }

  get api(): string {
    return this.#running.apiUrl
  }

  get apis(): readonly string[] {
    return [this.api]
  }

  get health(): readonly string[] {
    return [this.#running.healthUrl]
  }

  async start(): Promise<void> {
    const hosts = { providerHosts: '127.0.0.1' }
    const flags = {
      ...hosts,
      dataDir: this.#dataDir,
      apiPort: '0',
      healthPort: '0',
      logLevel: 'error',
    }
    this.#node = await startNode(parseNodeConfig({}, flags))
  }

  async stop(): Promise<PlaceEnding> {
    await this.#running.close()
    this.#node = undefined
    return { exitCodes: [0], log: '' }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node?.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  get #running(): RunningNode {
    return must(this.#node, 'a node that runs')
  }
}
