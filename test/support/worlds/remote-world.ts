// Nodes that ask each other's shards, in one process.

import { randomBytes } from 'node:crypto'
import { systemClock, type Clock, type ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { Replaceable } from '../../../lib/replaceable.ts'
import { HybridClock } from '../../../node/clock/hybrid-clock.ts'
import { MemoryNetwork } from '../../../node/peer/channels/memory-network.ts'
import { TcpTransport } from '../../../node/peer/channels/tcp-transport.ts'
import { openPeerNode, PEER_VERSIONS } from '../../../node/peer/connections/open-peer-node.ts'
import type { NodeId, PeerHandlers, PeerNode } from '../../../node/peer/peer.ts'
import type { PeerTransport } from '../../../node/peer/transport.ts'
import { RemoteShard } from '../../../node/shard/remote/remote-shard.ts'
import { serveShards } from '../../../node/shard/remote/serve-shards.ts'
import type { KeyRange } from '../../../node/shard/command/key-range.ts'
import type { FindShard } from '../../../node/shard/remote/served-shards.ts'
import type { ShardPlace, ShardPlaces } from '../../../node/shard/remote/shard-places.ts'
import { parseShardId, type ShardId } from '../../../node/shard/shard-id.ts'
import { TEST_LIMITS, TEST_SECRET } from '../peer/peer-world.ts'
import { memoryBound } from './shard-world.ts'

export const SHARD_ID = parseShardId('0000000000000001')
export const EVERYTHING = { start: Buffer.alloc(0), end: undefined }
const CALLER = 'caller'
const STEP_MS = 5
const STEPS_MAX = 20_000

interface Leader {
  readonly node: NodeId
  readonly epoch: number
}

/** A map of one shard's leader, which a test writes and hints correct. */
export class TestPlaces implements ShardPlaces {
  leader: Leader | undefined
  readonly hints: { readonly leader: NodeId | undefined; readonly epoch: number }[] = []
  readonly linkOf: (node: NodeId) => ShardPlace['link']

  constructor(linkOf: (node: NodeId) => ShardPlace['link']) {
    this.linkOf = linkOf
  }

  async leaderOf(): Promise<ShardPlace | undefined> {
    const { leader } = this
    return leader === undefined ? undefined : { ...leader, link: this.linkOf(leader.node) }
  }

  hint(_id: ShardId, leader: NodeId | undefined, epoch: number): void {
    this.hints.push({ leader, epoch })
    const isNews = epoch >= (this.leader?.epoch ?? 0)
    if (isNews && leader !== undefined) this.leader = { node: leader, epoch }
  }
}

export interface RemoteWorldOptions {
  readonly clock: ManualClock
  /** The clock of the caller's node. */
  readonly hybridClock: HybridClock
  /** Default: memory, in the time of `clock`. TCP is in real time. */
  readonly network?: 'memory' | 'tcp'
}

/** One node that calls, and nodes that answer. */
export class RemoteWorld implements AsyncDisposable {
  readonly network: MemoryNetwork
  readonly places: TestPlaces
  readonly faults: unknown[] = []
  readonly #options: RemoteWorldOptions
  readonly #nodes = new Map<NodeId, PeerNode>()

  private constructor(options: RemoteWorldOptions) {
    this.#options = options
    this.network = new MemoryNetwork(options.clock)
    this.places = new TestPlaces((node) => this.#linkTo(node))
  }

  static async open(options: RemoteWorldOptions): Promise<RemoteWorld> {
    const world = new RemoteWorld(options)
    await world.#open(CALLER, new Map())
    return world
  }

  /** A node that answers for the shards that `find` finds. The first one leads, as far as the caller knows. */
  async addNode(nodeId: NodeId, find: FindShard, hybridClock?: HybridClock): Promise<void> {
    const { clock } = this.#options
    hybridClock ??= await HybridClock.open(clock, memoryBound)
    await this.addHandlers(nodeId, serveShards({ find, hybridClock, clock }))
  }

  /** A node that answers in another way. */
  async addHandlers(nodeId: NodeId, handlers: PeerHandlers): Promise<void> {
    await this.#open(nodeId, handlers)
    this.places.leader ??= { node: nodeId, epoch: 1 }
  }

  remote(timeoutMs?: number, range: KeyRange = EVERYTHING): RemoteShard {
    const { clock, hybridClock } = this.#options
    return new RemoteShard({
      id: SHARD_ID,
      range,
      places: this.places,
      hybridClock,
      clock,
      random: seededRandom(2),
      timeoutMs,
    })
  }

  /** The outcome of a promise, while time passes. */
  async settled<Value>(promise: Promise<Value>): Promise<Value> {
    let isDone = false
    const finish = (): void => void (isDone = true)
    promise.then(finish, finish)
    await this.until(() => isDone)
    return promise
  }

  /** Time passes only when nothing is left to do. */
  async until(condition: () => boolean): Promise<void> {
    for (let step = 0; step < STEPS_MAX; step++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (condition()) return
      if (step % 10 === 9) this.#options.clock.advance(STEP_MS)
    }
    throw new Error('the condition never held')
  }

  /** Cuts the connections between the caller and the node. */
  cut(node: NodeId): void {
    this.network.cut(CALLER, node)
  }

  /** Nobody listens there any more. */
  async close(nodeId: NodeId): Promise<void> {
    const node = this.#nodes.get(nodeId)
    if (node !== undefined) await this.settled(node.close())
  }

  /** While true, what the node sends to the caller vanishes. */
  swallowAnswers(node: NodeId, isOn: boolean): void {
    this.network.weather(node, CALLER, { isBlackHole: isOn })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes.keys()) this.swallowAnswers(node, false)
    const closing = Promise.all([...this.#nodes.values()].map((node) => node.close()))
    await (this.#options.network === 'tcp' ? closing : this.settled(closing))
  }

  async #open(nodeId: NodeId, handlers: PeerHandlers): Promise<void> {
    const isTcp = this.#options.network === 'tcp'
    const clock: Clock = isTcp ? systemClock : this.#options.clock
    const transport: PeerTransport = isTcp
      ? new TcpTransport({ host: '127.0.0.1' })
      : this.network.host(nodeId)
    const node = await openPeerNode({
      transport,
      cluster: 'library',
      nodeId,
      secrets: new Replaceable([TEST_SECRET]),
      handlers,
      limits: TEST_LIMITS,
      versions: PEER_VERSIONS,
      port: 0,
      clock,
      random: seededRandom(1),
      randomBytes,
      log: silentLog,
      onFault: (error) => this.faults.push(error),
    })
    this.#nodes.set(nodeId, node)
  }

  #linkTo(nodeId: NodeId): ShardPlace['link'] {
    const [caller, node] = [this.#nodes.get(CALLER), this.#nodes.get(nodeId)]
    if (caller === undefined || node === undefined) throw new RangeError(`no node "${nodeId}"`)
    const host = this.#options.network === 'tcp' ? '127.0.0.1' : nodeId
    return caller.link({ nodeId, host, port: node.port })
  }
}
