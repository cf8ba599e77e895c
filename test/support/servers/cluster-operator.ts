// An operator of a cluster: looks at nodes and shards by the API, steers them, and waits until it has happened.

import { setTimeout as sleep } from 'node:timers/promises'
import { must } from '../../../lib/assert.ts'
import type { Answer, StoreClient } from './store-client.ts'

const POLL_MS = 50
/** Much longer than anything takes on a busy machine. */
const PATIENCE_MS = 400_000
const STEERED = 202
const CONFLICT = 409

export interface ShownNode {
  readonly id: string
  readonly api?: string
  readonly state: string
  readonly condition: string
  readonly replicas: number
  readonly leaders: number
  readonly safe_to_stop: boolean
  readonly registered_at?: string
  readonly disk?: { readonly total_bytes: number; readonly free_bytes: number }
  readonly emptying?: {
    readonly done: boolean
    readonly replicas_left: number
    readonly leaders_left: number
    readonly moving: number
    readonly waiting: readonly { readonly reason: string }[]
  }
}

export interface ShownShard {
  readonly id: string
  readonly epoch: number
  readonly leader: string | null
  readonly replicas: readonly {
    readonly node: string
    readonly role: string
    readonly in_sync: boolean
  }[]
  readonly trouble?: string
  readonly waits?: string
  readonly move?: { readonly cause: string; readonly to: string; readonly phase: string }
}

export class ClusterOperator {
  readonly #client: StoreClient

  constructor(client: StoreClient) {
    this.#client = client
  }

  async nodes(): Promise<readonly ShownNode[]> {
    const { nodes }: { readonly nodes: readonly ShownNode[] } = await this.#get('/cluster/nodes')
    return nodes
  }

  async node(id: string): Promise<ShownNode> {
    const nodes = await this.nodes()
    return must(
      nodes.find((node) => node.id === id),
      `node ${id}`,
    )
  }

  /** The shards of all tables, which must fit on one page. */
  async shards(): Promise<readonly ShownShard[]> {
    const { shards }: { readonly shards: readonly ShownShard[] } = await this.#get(
      '/cluster/shards?limit=1000',
    )
    return shards
  }

  async shard(id: string): Promise<ShownShard> {
    const shards = await this.shards()
    return must(
      shards.find((shard) => shard.id === id),
      `shard ${id}`,
    )
  }

  async health(): Promise<string> {
    const { health }: { readonly health: string } = await this.#get('/status')
    return health
  }

  /** Steers, and answers how the node or the shard was then. What must wait for another change is repeated. */
  async steer<Shown extends ShownNode | ShownShard>(path: string, body?: object): Promise<Shown> {
    const steered = await this.until(
      `an answer to ${path}`,
      () => this.#client.send('POST', `/api/v1/${path}`, body),
      ({ status, text }) => status !== CONFLICT || !/changing or moving|enough moves/.test(text),
    )
    const { status, text } = must<Answer>(steered.at(-1), 'an answer')
    if (status !== STEERED) throw new Error(`${path} was answered ${status} ${text}`)
    return JSON.parse(text)
  }

  /** Looks again and again until it is so. Answers all that was seen, the last one at the end. */
  async until<Seen>(
    what: string,
    look: () => Promise<Seen>,
    isSo: (seen: Seen) => boolean,
  ): Promise<readonly Seen[]> {
    const seen: Seen[] = []
    const untilMs = performance.now() + PATIENCE_MS
    for (;;) {
      const last = await look()
      seen.push(last)
      if (isSo(last)) return seen
      if (performance.now() > untilMs) {
        throw new Error(`waited in vain for ${what}: ${JSON.stringify(last)}`)
      }
      await sleep(POLL_MS)
    }
  }

  /** Waits until each shard has so many replicas, all in sync, and nothing moves. */
  async whole(replicas: number): Promise<readonly (readonly ShownShard[])[]> {
    return this.until(
      `${replicas} replicas in sync of each shard`,
      () => this.shards(),
      (shards) => shards.length > 0 && shards.every((shard) => isWhole(shard, replicas)),
    )
  }

  async #get<Body>(path: string): Promise<Body> {
    const { text } = await this.#client.succeed('GET', `/api/v1${path}`)
    return JSON.parse(text)
  }
}

function isWhole({ replicas, leader, trouble, move }: ShownShard, count: number): boolean {
  const isQuiet = leader !== null && trouble === undefined && move === undefined
  return isQuiet && replicas.length === count && replicas.every(({ in_sync: isIn }) => isIn)
}
