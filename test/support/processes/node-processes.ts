// Real nodes of a cluster, each a process over a data directory of its own, and a real etcd below them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import { EtcdCluster } from './etcd-cluster.ts'
import { killedStart, StoreProcess, type Ending } from './store-process.ts'

const SECRET = 'a secret of this test alone'

/** One node: its directory stays when its process ends. */
export class TestNode {
  readonly name: string
  readonly dataDir: string
  readonly #command: readonly string[]
  process: StoreProcess | undefined

  constructor(name: string, dataDir: string, command: readonly string[]) {
    this.name = name
    this.dataDir = dataDir
    this.#command = command
  }

  /** The URL of the API, while the node runs. */
  get api(): string {
    return must(this.process, `the process of ${this.name}`).api
  }

  async start(): Promise<void> {
    const { dataDir } = this
    this.process = await StoreProcess.start({ dataDir, command: this.#command })
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const { process } = this
    this.process = undefined
    await process?.kill()
  }

  /** Starts it over its directory, and kills it most likely in the middle of its start. */
  async startAndKill(afterMs: number): Promise<void> {
    await killedStart({ dataDir: this.dataDir, command: this.#command }, afterMs)
  }

  /** SIGTERM, and SIGKILL in the middle of the orderly end. */
  async stopAndKill(afterMs: number): Promise<void> {
    const { process } = this
    this.process = undefined
    await process?.stopAndKill(afterMs)
  }

  /** SIGTERM: it hands its leaderships over first. */
  async stop(): Promise<Ending> {
    const process = must(this.process, `the process of ${this.name}`)
    this.process = undefined
    return process.stop()
  }
}

/** Three nodes by default. Disposing it kills all processes and removes all directories. */
export class NodeProcesses implements AsyncDisposable {
  readonly etcd: EtcdCluster
  readonly nodes: readonly TestNode[]
  readonly #directory: string

  private constructor(etcd: EtcdCluster, nodes: readonly TestNode[], directory: string) {
    this.etcd = etcd
    this.nodes = nodes
    this.#directory = directory
  }

  static async start(count = 3): Promise<NodeProcesses> {
    const etcd = await EtcdCluster.start({ members: 1 })
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-nodes-'))
    const secret = path.join(directory, 'secret')
    await writeFile(secret, SECRET, { mode: 0o600 })
    const joins = ['--cluster', 'test', '--etcd', etcd.endpoints.join(',')]
    const proves = ['--cluster-secret-file', secret, '--peer-port', '0']
    const command = ['node', ...joins, ...proves, '--log-level', 'info']
    const nodes = Array.from({ length: count }, (_, i) => {
      return new TestNode(`n${i + 1}`, path.join(directory, `n${i + 1}`), command)
    })
    const cluster = new NodeProcesses(etcd, nodes, directory)
    try {
      await Promise.all(nodes.map((node) => node.start()))
      return cluster
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  /** The nodes that run. */
  get running(): readonly TestNode[] {
    return this.nodes.filter(({ process }) => process !== undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()))
    await this.etcd[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true, force: true })
  }
}
