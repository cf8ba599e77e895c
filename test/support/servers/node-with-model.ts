// A node of this process that may ask one provider of models, on a directory of its own.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseNodeConfig } from '../../../node/config.ts'
import { startNode, type RunningNode } from '../../../node/main.ts'
import { send } from '../../contract/api-harness.ts'
import { ProviderServer } from './providers/provider-server.ts'
import { openaiDouble } from './providers/wire-doubles.ts'

export class NodeWithModel implements AsyncDisposable {
  readonly dataDir: string
  readonly model: ProviderServer
  readonly #hosts: readonly string[]
  #node: RunningNode

  private constructor(parts: {
    readonly dataDir: string
    readonly model: ProviderServer
    readonly hosts: readonly string[]
    readonly node: RunningNode
  }) {
    this.dataDir = parts.dataDir
    this.model = parts.model
    this.#hosts = parts.hosts
    this.#node = parts.node
  }

  /** `otherHosts` are providers that may be named beside the model. */
  static async start(...otherHosts: readonly string[]): Promise<NodeWithModel> {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-with-model-'))
    const model = await ProviderServer.start(openaiDouble)
    const hosts = [new URL(model.url).host, ...otherHosts]
    const node = await start(dataDir, hosts)
    return new NodeWithModel({ dataDir, model, hosts, node })
  }

  /** Does something on the directory while no node runs on it. */
  async restartAfter<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#node.close()
    try {
      return await work()
    } finally {
      this.#node = await start(this.dataDir, this.#hosts)
    }
  }

  /** One request to the API, with its status and the JSON of its answer. */
  async call(method: string, at: string, body?: unknown) {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await send(this.#node.apiUrl, { method, path: `/api/v1${at}`, ...sent })
    return { status: answer.status, body: answer.body === '' ? undefined : JSON.parse(answer.body) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node.close()
    await this.model[Symbol.asyncDispose]()
    await rm(this.dataDir, { recursive: true, force: true })
  }
}

function start(dataDir: string, hosts: readonly string[]): Promise<RunningNode> {
  const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
  return startNode(parseNodeConfig({}, { ...flags, providerHosts: hosts.join() }))
}
