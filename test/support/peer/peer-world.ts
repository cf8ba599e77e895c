import { randomBytes } from 'node:crypto'
import { ManualClock, systemClock } from '../../../lib/clock.ts'
import type { Clock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { Replaceable } from '../../../lib/replaceable.ts'
import { MemoryNetwork } from '../../../node/peer/channels/memory-network.ts'
import { openPeerNode, PEER_VERSIONS } from '../../../node/peer/connections/open-peer-node.ts'
import type { PeerNodeOptions } from '../../../node/peer/connections/open-peer-node.ts'
import { PEER_LIMITS } from '../../../node/peer/peer-limits.ts'
import type { PeerLimits } from '../../../node/peer/peer-limits.ts'
import type { PeerAddress, PeerNode } from '../../../node/peer/peer.ts'
import { TcpTransport } from '../../../node/peer/channels/tcp-transport.ts'
import type { TlsIdentity } from '../../../node/peer/channels/tcp-transport.ts'
import type { PeerTransport } from '../../../node/peer/transport.ts'
import { until } from '../until.ts'
import { TcpProxy } from './tcp-proxy.ts'

export const TEST_SECRET = Buffer.alloc(32, 7)

/** Short times, so that tests on real time are quick. */
export const TEST_LIMITS: PeerLimits = {
  ...PEER_LIMITS,
  silenceMs: 600,
  handshakeMs: 2000,
  graceMs: 1000,
  backoff: { baseMs: 10, capMs: 40 },
}

export type NodeSettings = Partial<PeerNodeOptions> & { readonly nodeId: string }

/** Nodes, and one way between each pair that a test can disturb. */
export interface PeerWorld extends AsyncDisposable {
  readonly faults: unknown[]
  readonly clock: Clock
  open(settings: NodeSettings): Promise<PeerNode>
  /** Where others reach the node: through what a test disturbs. */
  addressOf(node: PeerNode): Promise<PeerAddress>
  /** Lets time pass until the condition holds. */
  until(condition: () => boolean): Promise<void>
  /** Ends all connections. */
  cut(): void
  /** While true, nothing that is sent arrives anywhere. */
  hole(isOn: boolean): void
}

abstract class WorldOfNodes implements PeerWorld {
  readonly faults: unknown[] = []
  readonly #nodes: PeerNode[] = []
  abstract readonly clock: Clock
  protected abstract readonly secret: Buffer
  abstract addressOf(node: PeerNode): Promise<PeerAddress>
  abstract until(condition: () => boolean): Promise<void>
  abstract cut(): void
  abstract hole(isOn: boolean): void
  protected abstract transportOf(nodeId: string): PeerTransport

  async open(settings: NodeSettings): Promise<PeerNode> {
    const node = await openPeerNode({
      transport: this.transportOf(settings.nodeId),
      cluster: 'library',
      secrets: new Replaceable([this.secret]),
      handlers: new Map(),
      limits: TEST_LIMITS,
      versions: PEER_VERSIONS,
      port: 0,
      clock: this.clock,
      random: seededRandom(1),
      randomBytes,
      log: silentLog,
      onFault: (error) => this.faults.push(error),
      ...settings,
    })
    this.#nodes.push(node)
    return node
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.hole(false)
    const closing = Promise.all(this.#nodes.map((node) => node.close()))
    let isClosed = false
    const done = closing.then(() => (isClosed = true))
    await this.until(() => isClosed)
    await done
  }
}

class TcpWorld extends WorldOfNodes {
  readonly clock = systemClock
  protected readonly secret = TEST_SECRET
  readonly #tls: TlsIdentity | undefined
  readonly #proxies = new Map<number, TcpProxy>()

  constructor(tls: TlsIdentity | undefined) {
    super()
    this.#tls = tls
  }

  async addressOf({ nodeId, port }: PeerNode): Promise<PeerAddress> {
    const proxy = this.#proxies.get(port) ?? (await TcpProxy.open(port))
    this.#proxies.set(port, proxy)
    return { nodeId, host: '127.0.0.1', port: proxy.port }
  }

  until(condition: () => boolean): Promise<void> {
    return until(async () => condition())
  }

  cut(): void {
    for (const proxy of this.#proxies.values()) proxy.cut()
  }

  hole(isOn: boolean): void {
    for (const proxy of this.#proxies.values()) proxy.hole(isOn)
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    for (const proxy of this.#proxies.values()) await proxy.close()
  }

  protected transportOf(): PeerTransport {
    const host = '127.0.0.1'
    return new TcpTransport(
      this.#tls === undefined ? { host } : { host, tls: new Replaceable(this.#tls) },
    )
  }
}

const STEP_MS = 5
const STEPS_MAX = 20_000

abstract class NetworkInMemory extends WorldOfNodes {
  protected readonly secret = TEST_SECRET
  readonly #network: MemoryNetwork
  readonly #hosts = new Set<string>()

  constructor(clock: Clock) {
    super()
    this.#network = new MemoryNetwork(clock)
  }

  async addressOf({ nodeId, port }: PeerNode): Promise<PeerAddress> {
    return { nodeId, host: nodeId, port }
  }

  cut(): void {
    this.#eachPair((a, b) => this.#network.cut(a, b))
  }

  hole(isOn: boolean): void {
    this.#eachPair((a, b) => this.#network.weather(a, b, { isBlackHole: isOn }))
  }

  protected transportOf(nodeId: string): PeerTransport {
    this.#hosts.add(nodeId)
    return this.#network.host(nodeId)
  }

  #eachPair(visit: (a: string, b: string) => void): void {
    for (const a of this.#hosts) for (const b of this.#hosts) if (a !== b) visit(a, b)
  }
}

class MemoryWorld extends NetworkInMemory {
  readonly clock: ManualClock

  constructor(clock = new ManualClock()) {
    super(clock)
    this.clock = clock
  }

  /** Time passes only when nothing is left to do. */
  async until(condition: () => boolean): Promise<void> {
    for (let step = 0; step < STEPS_MAX; step++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (condition()) return
      if (step % 10 === 9) this.clock.advance(STEP_MS)
    }
    throw new Error('the condition never held')
  }
}

/** For handlers that wait for a disk, which knows no virtual time. */
class MemoryWorldInRealTime extends NetworkInMemory {
  readonly clock = systemClock

  constructor() {
    super(systemClock)
  }

  until(condition: () => boolean): Promise<void> {
    return until(async () => condition())
  }
}

export function openTcpWorld(tls?: TlsIdentity): PeerWorld {
  return new TcpWorld(tls)
}

export function openMemoryWorld(): PeerWorld {
  return new MemoryWorld()
}

export function openMemoryWorldInRealTime(): PeerWorld {
  return new MemoryWorldInRealTime()
}
