// One node of a simulated cluster: what survives its process, and its process while it runs. The
// process is what node/cluster-node.ts builds, without HTTP, files and snapshots.

import { Lifecycle } from '../../../../lib/lifecycle.ts'
import { silentLog, type Log } from '../../../../lib/log.ts'
import { isServiceError, messageOf, ServiceError } from '../../../../lib/errors.ts'
import type { Random } from '../../../../lib/random.ts'
import { Replaceable } from '../../../../lib/replaceable.ts'
import {
  BOUND_AHEAD_MS,
  HybridClock,
  TIMESTAMP_ZERO,
  type Timestamp,
} from '../../../../node/clock/hybrid-clock.ts'
import { ClusterMap } from '../../../../node/cluster/cluster-map.ts'
import { DamageReport } from '../../../../node/cluster/damage-report.ts'
import { depart } from '../../../../node/cluster/departure.ts'
import { LeaderPlaces } from '../../../../node/cluster/leader-places.ts'
import { joinCluster, type Membership } from '../../../../node/cluster/membership.ts'
import { followSeenLives } from '../../../../node/cluster/registrar.ts'
import { NodeIdentity } from '../../../../node/cluster/node-identity.ts'
import { awaitControlPlane } from '../../../../node/cluster/recovery/await-control-plane.ts'
import { ControlPlaneMemory } from '../../../../node/cluster/recovery/control-plane-memory.ts'
import { rememberControlPlane } from '../../../../node/cluster/recovery/remember-control-plane.ts'
import { ClusterAdmin } from '../../../../node/controller/shell/cluster-admin.ts'
import { Controller } from '../../../../node/controller/shell/controller.ts'
import {
  controllerHandlers,
  controllerPeers,
} from '../../../../node/controller/shell/controller-calls.ts'
import { askEndsBy } from '../../../../node/controller/shell/replica-ends.ts'
import { CONTROLLER_CATALOG } from '../../../../node/steering/controller-catalog.ts'
import { LoopbackLink } from '../../../../node/replicas/loopback-link.ts'
import type { DroppedReplicas } from '../../../../node/replicas/tables/dropped-replicas.ts'
import type { ReplicaHost } from '../../../../node/replicas/replica-host.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import { openStore, type OpenedStore } from '../../../../node/store/open-store.ts'
import { openStoreCore } from '../../../../node/store/store-core.ts'
import type { ShardedStore } from '../../../../node/store/sharded-store.ts'
import { openPeerNode, PEER_VERSIONS } from '../../../../node/peer/connections/open-peer-node.ts'
import { PEER_LIMITS, type PeerLimits } from '../../../../node/peer/peer-limits.ts'
import { OperationTable } from '../../../../node/peer/operation-table.ts'
import type { PeerAddress, PeerLink } from '../../../../node/peer/peer.ts'
import type { MemoryNetwork } from '../../../../node/peer/channels/memory-network.ts'
import type { KvSnapshot } from '../../../../node/storage/kv-store.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { FaultyDisk, type DiskState } from '../../fakes/faulty-disk.ts'
import { openTestJournal } from '../../worlds/test-journal.ts'
import { SIMULATION_SETTINGS } from '../controller/controller-simulation.ts'
import type { Dice } from '../dice.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { NodeClock } from './node-clock.ts'
import { NodeTransport } from './node-transport.ts'
import { copyOf, PlaneWay, type SimulatedPlane } from './simulated-plane.ts'
import { simulatedPlace } from './simulated-place.ts'

const CLUSTER = 'library'
const SECRET = Buffer.alloc(32, 7)
const PEER_PORT = 7400
const SEGMENT_BYTES = 64 * 1024
/** Short, so that failovers are. */
const TTL_SECONDS = 3
/** So much that every replica can be brought up from the log: there are no snapshots here. */
const KEPT_BYTES = 64 * 1024 * 1024

const { prompt, bulk } = PEER_LIMITS.lanes
/** So few that calls are refused because too many wait. */
const TIGHT_LIMITS: PeerLimits = {
  ...PEER_LIMITS,
  lanes: { prompt: { ...prompt, streamsMax: 4 }, bulk: { ...bulk, streamsMax: 4 } },
  waitingMax: 2,
}

/** What all nodes of a simulation share. */
export interface NodeSurroundings {
  readonly time: VirtualTime
  readonly network: MemoryNetwork
  readonly plane: SimulatedPlane
  /** Whether records are sealed by keys of the secret, as without TLS. */
  readonly hasSecret: boolean
  /** Whether few calls may run and wait between two nodes. */
  readonly isTight: boolean
  readonly log?: Log | undefined
}

/** Earlier states of a disk that are kept. */
const STATES_MAX = 12

/** All that survives a process, at one moment. */
interface NodeState {
  readonly disk: DiskState
  readonly identity: string | undefined
  readonly bound: Timestamp
  readonly local: KvSnapshot
}

/** A process of a node. */
export interface NodeLife {
  readonly clock: NodeClock
  readonly transport: NodeTransport
  readonly lifecycle: Lifecycle
  readonly identity: NodeIdentity
  /** Each of these is there as soon as the start has come so far. */
  host: ReplicaHost | undefined
  opened: OpenedStore | undefined
  dropped: DroppedReplicas | undefined
  membership: Membership | undefined
  map: ClusterMap | undefined
  control: ClusterAdmin | undefined
  /** What must never be seen. */
  readonly failures: string[]
  /** Resolves at the end of the process. */
  readonly over: PromiseWithResolvers<void>
}

export class SimulatedNode {
  readonly id: string
  readonly disk: FaultyDisk
  readonly #in: NodeSurroundings
  #identity: string | undefined
  #bound: Timestamp = TIMESTAMP_ZERO
  /** The node's own store: what it remembers of the control plane. A write is durable at the call. */
  #local = new MemoryKvStore()
  /** What the store is to be at the next start. */
  #earlierLocal: KvSnapshot | undefined
  readonly #states: NodeState[] = []
  life: NodeLife | undefined
  /** How wrong the clock of each life is at its start. */
  clockRate = 1
  clockOffsetMs = 0
  /** How long a write to the disk takes. */
  diskMs: readonly [number, number] = [0.1, 1]
  /** How many proposals are refused because too many wait. */
  refusedRatio = 0
  /** Programming errors: none may be seen. */
  readonly failures: string[] = []
  /** The codes of the errors that clients heard from it. */
  readonly codes: string[] = []
  /** It refuses to start over a damaged disk. An operator has to replace it. */
  isDamaged = false

  constructor(id: string, seed: number, surroundings: NodeSurroundings) {
    this.id = id
    this.#in = surroundings
    this.disk = new FaultyDisk(seed, { pace: () => this.#pace() })
  }

  get isUp(): boolean {
    return this.life !== undefined
  }

  get isFrozen(): boolean {
    return this.life?.clock.isFrozen === true
  }

  /** The store, as soon as it serves. */
  get store(): ShardedStore | undefined {
    const { opened, membership } = this.life ?? {}
    return membership === undefined ? undefined : opened?.store
  }

  /** Begins a life. It ends by itself if it cannot start. */
  start(): void {
    if (this.life !== undefined) return
    void this.#start().catch((error: unknown) => {
      if (!isServiceError(error)) this.failures.push(`start: ${stackOf(error)}`)
      else if (error.code === 'CORRUPTION') this.isDamaged = true
      this.#in.log?.warn('start failed', { node: this.id, error: messageOf(error) })
      this.kill()
    })
  }

  /** The process ends where it stands, and what was not synced is lost. */
  kill(): void {
    const { life } = this
    if (life === undefined) return
    this.life = undefined
    life.clock.end()
    life.transport.end()
    life.over.resolve()
    this.disk.restart()
  }

  /** Keeps what the disk would have after a power failure now. */
  remember(): void {
    this.#states.push({
      disk: this.disk.state(),
      identity: this.#identity,
      bound: this.#bound,
      local: this.#local.snapshot(),
    })
    if (this.#states.length > STATES_MAX) this.#states.shift()
  }

  /** The process ends, and the whole disk becomes what it was at an earlier moment. */
  goBack(dice: Dice): void {
    this.kill()
    const state = dice.pick(this.#states)
    if (state === undefined) return
    this.disk.goBack(state.disk)
    this.#identity = state.identity
    this.#bound = state.bound
    this.#earlierLocal = state.local
  }

  /** Ends in order: leaderships are given away first. */
  async leave(): Promise<void> {
    const { life } = this
    const { membership, opened, map } = life ?? {}
    if (life === undefined || membership === undefined) return
    if (opened === undefined || map === undefined) return
    const { clock } = life
    await depart(membership, { led: opened.shards, map }, { clock, log: silentLog })
    if (this.life !== life) return
    await life.lifecycle.close()
    await life.identity.markClean()
    if (this.life === life) this.kill()
  }

  async #start(): Promise<void> {
    const { time, network, hasSecret } = this.#in
    const clock = new NodeClock(time, { rate: this.clockRate, offsetMs: this.clockOffsetMs })
    const transport = new NodeTransport(network.host(this.id), clock, !hasSecret)
    const identity = await NodeIdentity.openIn(this.id, {
      name: 'node.json',
      read: async () => this.#identity,
      replace: async (text) => void (this.#identity = text),
    })
    const lifecycle = new Lifecycle()
    const life: NodeLife = {
      clock,
      transport,
      lifecycle,
      identity,
      host: undefined,
      opened: undefined,
      dropped: undefined,
      membership: undefined,
      map: undefined,
      control: undefined,
      failures: this.failures,
      over: Promise.withResolvers(),
    }
    this.life = life
    await this.#build(life)
  }

  #openClock(clock: NodeClock): Promise<HybridClock> {
    const bound = {
      load: async () => this.#bound,
      save: async (saved: Timestamp) => {
        await clock.sleep(1)
        this.#bound = saved
      },
    }
    return HybridClock.open(clock, bound, { waitsForBound: true })
  }

  async #build(life: NodeLife): Promise<void> {
    const { plane, log = silentLog, time } = this.#in
    const { clock, lifecycle, identity } = life
    const hybridClock = await this.#openClock(clock)
    const { random } = time
    lifecycle.onClose(clock.every(BOUND_AHEAD_MS / 3, () => hybridClock.keepAhead()))
    const journal = await openTestJournal({
      disk: this.disk,
      clock,
      mayMark: true,
      segmentBytes: SEGMENT_BYTES,
      keptBytes: KEPT_BYTES,
      onFailure: () => this.kill(),
    })
    lifecycle.onClose(() => journal.close())
    if (journal.isNew && identity.incarnation > 1) await identity.markDamaged(identity.incarnation)
    const coordination = new PlaneWay(plane, this.id, clock)
    const { signal } = new AbortController()
    const memory = await this.#openMemory(clock)
    const promisedOf = (id: string): number => journal.stateOf(id).promised
    await awaitControlPlane({ coordination, memory, identity, promisedOf }, { clock, log, signal })
    const map = await ClusterMap.open({ coordination, clock, log }, signal)
    life.map = map
    lifecycle.onClose(() => map.close())
    lifecycle.onClose(rememberControlPlane({ map, memory, nodeId: this.id, clock, log }))
    const frozenBy = (): string | undefined =>
      map.health.kind === 'frozen' ? map.health.reason : undefined
    const operations = new OperationTable()
    const peers = await openPeerNode({
      transport: life.transport,
      cluster: CLUSTER,
      nodeId: this.id,
      secrets: new Replaceable([SECRET]),
      handlers: operations,
      limits: this.#in.isTight ? TIGHT_LIMITS : PEER_LIMITS,
      versions: PEER_VERSIONS,
      port: PEER_PORT,
      clock,
      random,
      randomBytes: (length) => seededBytes(length, random),
      log,
      onFault: (error) => this.failures.push(stackOf(error)),
    })
    lifecycle.onClose(() => peers.close())
    const loopback = new LoopbackLink(this.id, operations, clock)
    const link = (address: PeerAddress): PeerLink =>
      address.nodeId === this.id ? loopback : peers.link(address)
    const leaders = new LeaderPlaces(map, { link })
    const controller = new Controller({
      askEnds: askEndsBy((id) => leaders.linkTo(id)),
      coordination,
      catalog: CONTROLLER_CATALOG,
      frozenBy,
      node: this.id,
      clock,
      log,
      settings: SIMULATION_SETTINGS,
      ttlSeconds: TTL_SECONDS,
    })
    lifecycle.onClose(() => controller.close())
    operations.add(controllerHandlers(controller))
    const control = new ClusterAdmin({
      name: CLUSTER,
      node: this.id,
      coordination,
      map,
      controller,
      peers: controllerPeers(peers, (id) => map.addressOf(id)),
      clock,
      newOperation: () => bitsOf(random),
    })
    life.control = control
    await followSeenLives(coordination, identity)
    const self = { node: this.id, incarnation: identity.incarnation }
    const damage = new DamageReport(identity, log)
    const parts = { journal, hybridClock, clock, log, coordination, stores: this.disk }
    const made = { ...parts, version: '0', nodeId: this.id, randomBits: () => bitsOf(random) }
    const here = { self, map, control, leaders, random, life, operations, damage }
    const core = openStoreCore(made, lifecycle)
    const place = await simulatedPlace({ ...made, ...here, admit: () => this.#admit() }, core)
    const opened = await openStore(made, { core, place }, lifecycle)
    life.opened = opened
    const description = {
      zone: '',
      addresses: { api: `http://${this.id}:8080`, peer: `${this.id}:${peers.port}` },
      version: '0',
    }
    await damage.settled()
    const membership = await joinCluster(
      {
        coordination,
        identity,
        cluster: CLUSTER,
        description,
        clock,
        log,
        ttlSeconds: TTL_SECONDS,
        newClusterId: () => 'cluster',
      },
      signal,
    )
    life.membership = membership
    damage.joined(membership)
    await memory.see({ registered: identity.incarnation })
    lifecycle.onClose(() => membership.close())
    membership.ended.addEventListener('abort', () => this.kill())
    await opened.finishStart()
  }

  async #openMemory(clock: NodeClock): Promise<ControlPlaneMemory> {
    const earlier = this.#earlierLocal
    this.#earlierLocal = undefined
    if (earlier !== undefined) this.#local = await copyOf(earlier)
    return ControlPlaneMemory.open(new EmbeddedCoordination(this.#local, clock))
  }

  #admit(): void {
    this.disk.admit()
    if (!this.#in.time.chance(this.refusedRatio)) return
    throw new ServiceError('OVERLOADED', 'too many writes are waiting for the disk')
  }

  /** The disk is slow, and a frozen process hears of it later. */
  async #pace(): Promise<void> {
    const { time } = this.#in
    const { life } = this
    const [least, most] = this.diskMs
    await new Promise<void>((resolve) => time.after(time.between(least, most), resolve))
    const isFrozen = (): boolean => life === this.life && life?.clock.isFrozen === true
    while (isFrozen()) await new Promise<void>((resolve) => time.after(20, resolve))
  }
}

/** An id of 64 random bits. */
function bitsOf(random: Random): string {
  return seededBytes(8, random).toString('hex')
}

function seededBytes(length: number, random: Random): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
}

export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
