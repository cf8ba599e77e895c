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
  /** How it ended without being told to. */
  fall: Ending | undefined

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
    const process = await StoreProcess.start({ dataDir, command: this.#command })
    this.process = process
    void process.ended.then((ending) => {
      if (this.process !== process) return
      this.process = undefined
      this.fall = ending
    })
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
  readonly #nodes: TestNode[] = []
  readonly #directory: string
  readonly #command: readonly string[]

  private constructor(etcd: EtcdCluster, directory: string, command: readonly string[]) {
    this.etcd = etcd
    this.#directory = directory
    this.#command = command
  }

  /** `members`: of etcd. */
  static async start(count = 3, members: 1 | 3 = 1): Promise<NodeProcesses> {
    const etcd = await EtcdCluster.start({ members })
    const directory = await mkdtemp(path.join(tmpdir(), 'quarry-nodes-'))
    const secret = path.join(directory, 'secret')
    await writeFile(secret, SECRET, { mode: 0o600 })
    const joins = ['--cluster', 'test', '--etcd', etcd.endpoints.join(',')]
    const proves = ['--cluster-secret-file', secret, '--peer-port', '0']
    const command = ['node', ...joins, ...proves, '--log-level', 'info']
    const cluster = new NodeProcesses(etcd, directory, command)
    try {
      await cluster.add(count)
      return cluster
    } catch (error) {
      await cluster[Symbol.asyncDispose]()
      throw error
    }
  }

  /** All nodes, in the order in which they were added. */
  get nodes(): readonly TestNode[] {
    return this.#nodes
  }

  /** A file of the test's directory, removed with it. */
  async file(name: string, content: string): Promise<string> {
    const file = path.join(this.#directory, name)
    await writeFile(file, content, { mode: 0o600 })
    return file
  }

  /** Starts so many new nodes at once, and resolves when all of them serve. `more` are further options. */
  async add(count: number, more: readonly string[] = []): Promise<readonly TestNode[]> {
    const added = Array.from({ length: count }, (_, i) => {
      const name = `n${this.#nodes.length + i + 1}`
      const named = ['--node-name', name]
      const command = [...this.#command, ...named, ...more]
      return new TestNode(name, path.join(this.#directory, name), command)
    })
    this.#nodes.push(...added)
    await Promise.all(added.map((node) => node.start()))
    return added
  }

  /** The nodes that run. */
  get running(): readonly TestNode[] {
    return this.#nodes.filter(({ process }) => process !== undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.kill()))
    await this.etcd[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true, force: true })
  }
}
