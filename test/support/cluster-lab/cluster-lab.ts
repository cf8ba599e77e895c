// A cluster of real processes on machines of their own: members of etcd, nodes, and this process as the world
// outside.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { LabClient, type LabAnswer, type LabRequest } from './lab-client.ts'
import { LabEtcd } from './lab-etcd.ts'
import { LabNetwork, type Machine } from './lab-network.ts'
import { LabNode } from './lab-node.ts'

const SECRET = 'a secret of this laboratory'
const POLL_MS = 200

export interface ClusterLabOptions {
  readonly etcds: number
  readonly nodes: number
  readonly seed: number
}

export interface LabShard {
  readonly id: string
  readonly table: string
  readonly epoch: number
  /** The id of a node. */
  readonly leader?: string
  readonly replicas: readonly { readonly node: string; readonly in_sync: boolean }[]
  readonly trouble?: string
}

/** Disposing it kills all processes and removes all directories, machines and filters. */
export class ClusterLab implements AsyncDisposable {
  readonly random: Random
  readonly client = new LabClient()
  readonly network: LabNetwork
  readonly etcds: readonly LabEtcd[]
  readonly nodes: readonly LabNode[]
  readonly directory: string

  private constructor(
    { network, directory }: { readonly network: LabNetwork; readonly directory: string },
    parts: Pick<ClusterLab, 'etcds' | 'nodes' | 'random'>,
  ) {
    this.network = network
    this.directory = directory
    this.etcds = parts.etcds
    this.nodes = parts.nodes
    this.random = parts.random
  }

  /** Everything runs when this resolves. */
  static async open(options: ClusterLabOptions): Promise<ClusterLab> {
    const { etcds: members, nodes: count, seed } = options
    const network = await LabNetwork.open()
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-lab-'))
    const secretFile = path.join(directory, 'secret')
    await writeFile(secretFile, SECRET, { mode: 0o600 })
    const etcds = await LabEtcd.startAll(network, { members, directory })
    const nodes: LabNode[] = []
    for (let at = 1; at <= count; at++) {
      const name = `node-${at}`
      const machine = await network.addMachine(name)
      const dataDir = path.join(directory, name)
      const etcd = etcds.map(({ endpoint }) => endpoint)
      nodes.push(new LabNode(name, machine, { dataDir, etcd, secretFile }))
    }
    const random = seededRandom(seed)
    const lab = new ClusterLab({ network, directory }, { etcds, nodes, random })
    try {
      await Promise.all(nodes.map((node) => node.start()))
      return lab
    } catch (error) {
      await lab[Symbol.asyncDispose]()
      throw error
    }
  }

  get running(): readonly LabNode[] {
    return this.nodes.filter(({ isRunning }) => isRunning)
  }

  get machines(): readonly Machine[] {
    return [...this.etcds, ...this.nodes].map(({ machine }) => machine)
  }

  /** SIGKILLs of nodes so far. */
  get kills(): number {
    return this.nodes.reduce((sum, { kills }) => sum + kills, 0)
  }

  /** Those of them that met a node which served. */
  get servingKills(): number {
    return this.nodes.reduce((sum, { servingKills }) => sum + servingKills, 0)
  }

  pick<Item>(items: readonly Item[]): Item {
    return must(items[Math.floor(this.random() * items.length)], 'an item')
  }

  /** Some of them in random order, `count` at most. */
  some<Item>(items: readonly Item[], count: number): readonly Item[] {
    const rest = [...items]
    const chosen: Item[] = []
    while (chosen.length < count && rest.length > 0) {
      chosen.push(...rest.splice(Math.floor(this.random() * rest.length), 1))
    }
    return chosen
  }

  between(leastMs: number, mostMs: number): number {
    return leastMs + Math.floor(this.random() * (mostMs - leastMs))
  }

  /** Asks a node that runs, by chance. */
  async ask(request: LabRequest): Promise<LabAnswer> {
    const { running } = this
    if (running.length === 0) {
      await systemClock.sleep(POLL_MS)
      return { kind: 'unknown', isSilent: true, why: 'no node runs' }
    }
    return this.askOf(this.pick(running), request)
  }

  async askOf({ api }: LabNode, request: LabRequest): Promise<LabAnswer> {
    if (api === undefined) return { kind: 'unknown', isSilent: true, why: 'the node does not run' }
    return this.client.ask(api, request)
  }

  /** As a node sees them that answers. */
  async shards(): Promise<readonly LabShard[] | undefined> {
    const all = '/api/v1/cluster/shards?limit=1000'
    const answer = await this.ask({ method: 'GET', path: all, timeoutMs: 5000 })
    return answer.kind === 'ok' ? JSON.parse(answer.text).shards : undefined
  }

  /** The node that leads some shard, or any that runs. */
  async leader(): Promise<LabNode> {
    const led = (await this.shards())?.map(({ leader }) => leader) ?? []
    const chosen = led.length === 0 ? undefined : this.pick(led)
    for (const node of this.running) if ((await node.id()) === chosen) return node
    return this.pick(this.running)
  }

  /** Ends all faults that processes and the network have. Nodes that ended start again. */
  async heal(): Promise<void> {
    for (const node of this.nodes) node.resume()
    for (const { process } of this.etcds) process.signal('SIGCONT')
    await this.network.heal()
    const etcds = this.etcds.filter(({ process }) => !process.isRunning)
    await Promise.all(etcds.map(({ process }) => process.start()))
    await this.startAll()
  }

  async startAll(): Promise<void> {
    await Promise.all(this.nodes.filter((node) => !node.isRunning).map((node) => node.start()))
  }

  /** Waits until each shard has a leader and all its replicas in sync. */
  async untilInSync(limitMs: number): Promise<void> {
    const deadlineMs = systemClock.monotonicMs() + limitMs
    for (;;) {
      const shards = await this.shards()
      if (shards !== undefined && shards.length > 0 && shards.every(isWhole)) return
      if (systemClock.monotonicMs() > deadlineMs) {
        const seen = JSON.stringify(shards?.filter((shard) => !isWhole(shard)))
        throw new Error(`not in sync after ${limitMs} ms: ${seen}`)
      }
      await systemClock.sleep(POLL_MS)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client[Symbol.dispose]()
    for (const node of this.nodes) node.resume()
    await Promise.all(this.nodes.map((node) => node.kill()))
    await Promise.all(this.etcds.map(({ process }) => process.kill()))
    await this.network[Symbol.asyncDispose]()
    await rm(this.directory, { recursive: true, force: true })
  }
}

function isWhole({ leader, replicas }: LabShard): boolean {
  return leader !== undefined && replicas.length > 0 && replicas.every((one) => one.in_sync)
}
