// A cluster of three real nodes over a real etcd. Each shard has a replica on each node.

import { must } from '../../../lib/assert.ts'
import { NodeProcesses } from '../processes/node-processes.ts'
import { RetryingClient } from '../servers/retrying-client.ts'
import { StoreClient } from '../servers/store-client.ts'
import { until } from '../until.ts'
import type { KillableStore, PlaceEnding, StorePlace } from './store-under-test.ts'

const TABLES = '/api/v1/tables'

/**
 * Starts its nodes when they are first used, and gives the same ones, emptied of tables, to the next
 * user: their start takes longer than most suites. One store at a time.
 */
export class ThreeNodes implements StorePlace<KillableStore>, AsyncDisposable {
  readonly name = 'three nodes'
  #cluster: NodeProcesses | undefined

  async open(): Promise<KillableStore> {
    this.#cluster ??= await NodeProcesses.start()
    const store = new NodesUnderTest(this.#cluster)
    await store.start()
    await store.clear()
    return store
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster?.[Symbol.asyncDispose]()
  }
}

class NodesUnderTest implements KillableStore {
  readonly survives = true
  readonly #cluster: NodeProcesses
  #asked = 0
  #killed = 0

  constructor(cluster: NodeProcesses) {
    this.#cluster = cluster
  }

  get api(): string {
    const { running } = this.#cluster
    this.#asked += 1
    return must(running[this.#asked % running.length], 'a node that runs').api
  }

  get apis(): readonly string[] {
    return this.#cluster.running.map(({ api }) => api)
  }

  get health(): readonly string[] {
    return this.#cluster.running.map(({ process }) => must(process, 'a process').health)
  }

  get dataDirs(): readonly string[] {
    return this.#cluster.nodes.map(({ dataDir }) => dataDir)
  }

  get log(): string {
    const logs = this.#cluster.running.map(({ name, process }) => `${name}:\n${process?.log ?? ''}`)
    return logs.join('\n')
  }

  async start(): Promise<void> {
    const ended = this.#cluster.nodes.filter(({ process }) => process === undefined)
    await Promise.all(ended.map((node) => node.start()))
    await this.#settled()
  }

  /** All at once, so that none hands its leaderships to one that ends too. */
  async stop(): Promise<PlaceEnding> {
    const endings = await Promise.all(this.#cluster.running.map((node) => node.stop()))
    return {
      exitCodes: endings.map(({ exitCode }) => exitCode),
      log: endings.map(({ log }) => log).join('\n'),
    }
  }

  async kill(): Promise<void> {
    await Promise.all(this.#cluster.running.map((node) => node.kill()))
  }

  /** Another node each time. */
  async killSome(): Promise<void> {
    const { running } = this.#cluster
    this.#killed += 1
    await must(running[this.#killed % running.length], 'a node that runs').kill()
  }

  async stopAndKill(afterMs: number): Promise<void> {
    await Promise.all(this.#cluster.running.map((node) => node.stopAndKill(afterMs)))
  }

  async startAndKill(afterMs: number): Promise<void> {
    const ended = this.#cluster.nodes.filter(({ process }) => process === undefined)
    await Promise.all(ended.map((node) => node.startAndKill(afterMs)))
  }

  /** While no node runs, its requests go to one that is gone. */
  connect(gone: AbortSignal): StoreClient {
    let last = this.api
    const next = (): string => {
      if (this.#cluster.running.length > 0) last = this.api
      return last
    }
    return new RetryingClient(next, gone)
  }

  async #settled(): Promise<void> {
    await until(async () => {
      const answers = this.#cluster.running.map(async ({ api }) => {
        const answer = await fetch(`${api}/api/v1/status`)
        const status: { readonly health: string } = JSON.parse(await answer.text())
        return status.health === 'healthy'
      })
      return (await Promise.all(answers)).every(Boolean)
    })
  }

  /** Drops what an earlier user left. */
  async clear(): Promise<void> {
    using client = new StoreClient(this.api)
    const { text } = await client.succeed('GET', TABLES)
    const tables: readonly { readonly name: string }[] = JSON.parse(text)
    for (const { name } of tables) await client.succeed('DELETE', `${TABLES}/${name}`)
  }

  /** The nodes stay for the next user. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
