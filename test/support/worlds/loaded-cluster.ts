// Real nodes that are under load from the first one on, an operator who asks them by the API, and the `quarry cluster`
// of a shell.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { seededRandom } from '../../../lib/random.ts'
import { SearchedSet } from '../loads/searched-set.ts'
import { NodeProcesses, type TestNode } from '../processes/node-processes.ts'
import { CommandFolder, output } from '../processes/quarry-command.ts'
import { ClusterOperator } from '../servers/cluster-operator.ts'
import { RetryingClient } from '../servers/retrying-client.ts'
import { StoreClient } from '../servers/store-client.ts'

const TABLE = 'books'
const NEVER = new AbortController().signal
const COMMAND_MS_MAX = 400_000
const LOG_CHARACTERS_SHOWN = 4000

export interface LoadedClusterOptions {
  readonly seed: number
  readonly clients: number
  /** The request that creates the table. */
  readonly request: object
  /** Further bytes in each document. */
  readonly padding: number
}

/** Begins with one node. Disposing it ends everything. */
export class LoadedCluster implements AsyncDisposable {
  readonly nodes: NodeProcesses
  readonly operator: ClusterOperator
  readonly load: SearchedSet
  readonly #client: RetryingClient
  readonly #folder: CommandFolder

  private constructor(
    nodes: NodeProcesses,
    client: RetryingClient,
    { load, folder }: { readonly load: SearchedSet; readonly folder: CommandFolder },
  ) {
    this.nodes = nodes
    this.#client = client
    this.operator = new ClusterOperator(client)
    this.load = load
    this.#folder = folder
  }

  static async open(options: LoadedClusterOptions): Promise<LoadedCluster> {
    const { seed, clients, padding, request } = options
    const nodes = await NodeProcesses.start(1)
    let asked = 0
    const next = (): string => {
      const { running } = nodes
      asked += 1
      return must(running[asked % running.length], 'a node that runs').api
    }
    const client = new RetryingClient(next, NEVER)
    const random = seededRandom(seed)
    const load = new SearchedSet({ client, table: TABLE, clients, random, padding })
    const folder = await CommandFolder.open()
    const cluster = new LoadedCluster(nodes, client, { load, folder })
    try {
      await client.createTable(TABLE, request)
      load.begin()
      await load.goesOn()
      return cluster
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  /** What has been done so far. */
  get figures(): string {
    return `acknowledged writes ${this.load.acknowledged}, retries ${this.#client.retries}`
  }

  /** Runs `quarry cluster` with these words, at the first node that runs. It must succeed. */
  async command(
    ...words: readonly string[]
  ): Promise<{ readonly out: string; readonly err: string }> {
    const url = must(this.nodes.running[0], 'a node that runs').api
    const child = this.#folder.quarry(['cluster', ...words, '--url', url])
    child.stdin.end()
    // A command waits for its end as long as it takes.
    const limit = setTimeout(() => child.kill(), COMMAND_MS_MAX)
    const [out, err] = await output(child)
    clearTimeout(limit)
    expect(child.exitCode, `quarry cluster ${words.join(' ')}: ${err}`).to.equal(0)
    return { out, err }
  }

  /** The node's process, by the id that its directory has. */
  async processOf(id: string): Promise<TestNode> {
    for (const node of this.nodes.nodes) if ((await idOf(node)) === id) return node
    throw new Error(`no process has the id ${id}`)
  }

  /** Ends the load, and compares what all nodes have with what was acknowledged. */
  async expectContents(): Promise<void> {
    const { load, operator, nodes } = this
    for (const { name, fall } of nodes.nodes) {
      if (fall === undefined) continue
      const { exitCode, signal, log } = fall
      const end = log.slice(-LOG_CHARACTERS_SHOWN)
      throw new Error(`${name} ended by itself, with ${exitCode ?? signal}: ${end}`)
    }
    await load.stop()
    for (const { name, api } of nodes.running) {
      using client = new StoreClient(api)
      await load.readBack(client, name)
    }
    await operator.until('all documents in a search', () => load.allFound(), Boolean)
    expect(load.violations()).to.deep.equal([])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load.stop().catch(() => undefined)
    this.#client[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
    await this.nodes[Symbol.asyncDispose]()
  }
}

export async function idOf({ dataDir }: TestNode): Promise<string> {
  return JSON.parse(await readFile(path.join(dataDir, 'format.json'), 'utf8')).id
}
