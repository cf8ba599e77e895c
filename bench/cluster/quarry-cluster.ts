// Our nodes as users run them: `bin/quarry node` three times, and one etcd, each in its own process.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { must } from '../../lib/assert.ts'
import { ReadyProcess } from '../child-process.ts'
import { call, tablePath } from '../documents/quarry-server.ts'
import type { Bench } from '../suite.ts'
import { startEtcd } from './etcd-members.ts'
import { freePorts } from './service-process.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../..')
const SECRET = 'the secret of this benchmark'
const NODES = 3
const POLL_MS = 50
const WAIT_MAX_MS = 60_000
const BUILT_IN_INDEX = 'full_text_index_v0'

/** A node: its directory and its ports stay when its process ends. */
export interface BenchNode {
  readonly name: string
  readonly dataDir: string
  readonly origin: string
  readonly healthOrigin: string
  /** The running process; throws while there is none. */
  readonly pid: number
  start(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGTERM: it hands its leaderships over first. */
  stop(): Promise<void>
  /** By which the cluster names it. */
  id(): Promise<string>
}

/** What a node tells of a shard. */
export interface SeenShard {
  readonly id: string
  readonly table?: string
  readonly leader?: string
  readonly replicas: readonly { readonly node: string; readonly in_sync: boolean }[]
}

/** Running nodes. Disposing it ends those that run, and etcd. */
export interface QuarryCluster extends AsyncDisposable {
  readonly nodes: readonly BenchNode[]
  /** Creates a table of documents alone; resolves when all its replicas are in sync and every node knows it. */
  createTable(table: string, body?: object): Promise<void>
  shards(table: string): Promise<readonly SeenShard[]>
  /** The node that leads the first shard of the table. */
  leaderOf(table: string): Promise<BenchNode>
  othersThan(node: BenchNode): readonly BenchNode[]
  /** Resolves when every replica of the table is in sync and led. */
  untilInSync(table: string): Promise<void>
}

export async function startCluster(bench: Bench, name = 'cluster'): Promise<QuarryCluster> {
  const { directory } = bench
  await using stack = new AsyncDisposableStack()
  const etcd = stack.use(await startEtcd(bench, `${name}-etcd`, 1))
  const secretFile = path.join(directory, `${name}-secret`)
  await writeFile(secretFile, SECRET, { mode: 0o600 })
  const ports = await freePorts(NODES * 3)
  const nodes = Array.from({ length: NODES }, (_, index) => {
    const own = ports.slice(index * 3, index * 3 + 3)
    const joins = { cluster: name, etcd: etcd.urls.join(','), 'cluster-secret-file': secretFile }
    return new NodeProcess(bench, { name: `${name}-node-${index + 1}`, ports: own, joins })
  })
  // A node writes its profile when it ends in order, which takes longer.
  stack.defer(async () => {
    await Promise.all(nodes.map((node) => (bench.profileDirectory ? node.stop() : node.kill())))
  })
  await Promise.all(nodes.map((node) => node.start()))
  const owned = stack.move()
  return new RunningCluster(bench, nodes, owned)
}

interface NodeOptions {
  readonly name: string
  /** The ports of the API, of health and of peers. */
  readonly ports: readonly number[]
  readonly joins: Readonly<Record<string, string>>
}

class NodeProcess implements BenchNode {
  readonly name: string
  readonly dataDir: string
  readonly origin: string
  readonly healthOrigin: string
  readonly #args: readonly string[]
  #process: ReadyProcess | undefined

  constructor(bench: Bench, { name, ports, joins }: NodeOptions) {
    const [api, health, peer] = ports
    const { profileDirectory, directory } = bench
    this.name = name
    this.dataDir = path.join(directory, name)
    this.origin = `http://127.0.0.1:${api}`
    this.healthOrigin = `http://127.0.0.1:${health}`
    const profiling =
      profileDirectory === undefined
        ? []
        : ['--cpu-prof', '--cpu-prof-dir', path.join(profileDirectory, name)]
    const listens = { 'api-port': api, 'health-port': health, 'peer-port': peer }
    const options = { ...joins, ...listens, 'data-dir': this.dataDir, 'log-level': 'error' }
    const flags = Object.entries(options).map(([flag, value]) => `--${flag}=${value}`)
    this.#args = [...profiling, path.join(CHECKOUT, 'bin/quarry'), 'node', ...flags]
  }

  get pid(): number {
    return must(this.#process, `the process of ${this.name}`).pid
  }

  async start(): Promise<void> {
    const [process] = await ReadyProcess.start({ name: this.name, args: this.#args })
    this.#process = process
  }

  async kill(): Promise<void> {
    const process = this.#process
    this.#process = undefined
    await process?.kill()
  }

  async stop(): Promise<void> {
    const process = this.#process
    this.#process = undefined
    await process?.stop()
  }

  async id(): Promise<string> {
    return JSON.parse(await readFile(path.join(this.dataDir, 'format.json'), 'utf8')).id
  }
}

/** The processes of all nodes, the leader's first. */
export function pidsOf(cluster: QuarryCluster, leader: BenchNode): readonly number[] {
  return [leader, ...cluster.othersThan(leader)].map(({ pid }) => pid)
}

class RunningCluster implements QuarryCluster {
  readonly nodes: readonly BenchNode[]
  readonly #bench: Bench
  readonly #owned: AsyncDisposableStack

  constructor(bench: Bench, nodes: readonly BenchNode[], owned: AsyncDisposableStack) {
    this.#bench = bench
    this.nodes = nodes
    this.#owned = owned
  }

  async createTable(table: string, body: object = {}): Promise<void> {
    const [first] = this.nodes
    const { origin } = must(first, 'a node')
    await call(`${origin}${tablePath(table)}`, 'POST', body)
    await call(`${origin}${tablePath(table)}/indexes/${BUILT_IN_INDEX}`, 'DELETE')
    await this.untilInSync(table)
    for (const node of this.nodes) {
      await this.#until(`${node.name} knows the table`, async () => {
        await call(`${node.origin}${tablePath(table)}`, 'GET')
        return true
      })
    }
  }

  async shards(table: string): Promise<readonly SeenShard[]> {
    for (const { origin } of this.nodes) {
      const found = await call(
        `${origin}/api/v1/cluster/shards?table=${table}&limit=1000`,
        'GET',
      ).catch(
        () => undefined, // it does not run
      )
      if (found !== undefined) return JSON.parse(found).shards
    }
    throw new Error('no node answers')
  }

  async leaderOf(table: string): Promise<BenchNode> {
    const [shard] = await this.shards(table)
    for (const node of this.nodes) if ((await node.id()) === shard?.leader) return node
    throw new Error(`nobody leads the first shard of ${table}`)
  }

  othersThan(node: BenchNode): readonly BenchNode[] {
    return this.nodes.filter((other) => other !== node)
  }

  untilInSync(table: string): Promise<void> {
    return this.#until(`the replicas of ${table} are in sync`, async () => {
      const shards = await this.shards(table)
      return shards.length > 0 && shards.every(isInSync)
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync()
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#bench
    const untilMs = clock.monotonicMs() + WAIT_MAX_MS
    while (!(await isSo().catch(() => false))) {
      if (clock.monotonicMs() > untilMs) throw new Error(`not in time: ${what}`)
      await clock.sleep(POLL_MS)
    }
  }
}

function isInSync({ leader, replicas }: SeenShard): boolean {
  return (
    leader !== undefined && replicas.length === NODES && replicas.every(({ in_sync }) => in_sync)
  )
}
