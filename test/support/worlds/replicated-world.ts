// One replicated shard on several nodes in this process: real journals over faulty disks, a network that
// loses what the test wants it to lose, and a control plane that names leaders when it is asked to.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { ManualClock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { silentLog } from '../../../lib/log.ts'
import { HybridClock } from '../../../node/clock/hybrid-clock.ts'
import { ReplicaHost } from '../../../node/replicas/replica-host.ts'
import { LedShards } from '../../../node/catalog/tables/led-shards.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import {
  changedConfiguration,
  type InSyncChange,
  type NodeId,
  type ReplicaId,
  type ShardConfiguration,
} from '../../../node/replication/core/configuration.ts'
import type { ReplicaControl } from '../../../node/replication/shell/replica-surroundings.ts'
import type { LocalShard } from '../../../node/shard/local-shard.ts'
import { NO_SETTINGS, type TableSettings } from '../../../node/shard/command/table-settings.ts'
import type { KeyRange } from '../../../node/shard/command/key-range.ts'
import type { IndexParts } from '../../../node/shard/following/shard-indexes.ts'
import { parseShardId } from '../../../node/shard/shard-id.ts'
import type { ShardRouter } from '../../../node/shard/shard-router.ts'
import { FaultyDisk } from '../fakes/faulty-disk.ts'
import { aheadBy } from './ahead-clock.ts'
import { routesTo } from './routes.ts'
import { memoryBound } from './shard-world.ts'
import { openTestJournal } from './test-journal.ts'

export const SHARD = parseShardId('00000000000000aa')
const STEP_MS = 50
const TURNS_PER_STEP = 12
const STEPS_MAX = 2000

/** The configuration of the shard, which changes by compare-and-swap alone. */
export class TestControlPlane {
  #configuration: ShardConfiguration
  readonly #listeners = new Set<(configuration: ShardConfiguration) => void>()
  readonly #leavingListeners = new Set<() => void>()
  #leaving: ReadonlyMap<NodeId, number> = new Map()
  isAway = false

  constructor(first: ShardConfiguration) {
    this.#configuration = first
  }

  get configuration(): ShardConfiguration {
    return this.#configuration
  }

  onChange(listener: (configuration: ShardConfiguration) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get leaving(): ReadonlyMap<NodeId, number> {
    return this.#leaving
  }

  /** The nodes that are about to stop, with the lives that end. */
  leave(nodes: ReadonlyMap<NodeId, number>): void {
    this.#leaving = nodes
    for (const listener of this.#leavingListeners) listener()
  }

  onLeaving(listener: () => void): () => void {
    this.#leavingListeners.add(listener)
    return () => this.#leavingListeners.delete(listener)
  }

  controlOf(): ReplicaControl {
    const answer = async (): Promise<ShardConfiguration> => {
      if (this.isAway) throw new ServiceError('UNAVAILABLE', 'the control plane is away')
      return this.#configuration
    }
    return {
      change: async (change: InSyncChange) => {
        await answer()
        const changed = changedConfiguration(this.#configuration, change)
        if (changed !== undefined) this.write(changed)
        return this.#configuration
      },
      confirm: answer,
    }
  }

  /** Names a leader under a new epoch. */
  elect(leader: ReplicaId): void {
    const { epoch } = this.#configuration
    const members = this.#configuration.inSync.map((member) =>
      member.node === leader.node ? leader : member,
    )
    this.write({ ...this.#configuration, epoch: epoch + 1, leader, inSync: members })
  }

  write(changed: Omit<ShardConfiguration, 'revision'>): void {
    this.#configuration = { ...changed, revision: this.#configuration.revision + 1 }
    for (const listener of this.#listeners) listener(this.#configuration)
  }
}

/** One node: what survives its process, and its replica while it runs. */
export class TestNode {
  readonly id: NodeId
  readonly disk: FaultyDisk
  /** The shards that it leads. */
  readonly led = new LedShards()
  incarnation = 1
  running: RunningReplica | undefined

  constructor(id: NodeId, seed: number) {
    this.id = id
    this.disk = new FaultyDisk(seed)
  }

  get replica(): ReplicaId {
    return { node: this.id, incarnation: this.incarnation }
  }

  get shard(): LocalShard {
    return must(this.running, `the replica of ${this.id}`).shard
  }

  get isServing(): boolean {
    return this.running?.shard.replicated?.isServing ?? false
  }
}

/** A replica in this process. */
export interface RunningReplica {
  readonly host: ReplicaHost
  readonly shard: LocalShard
  readonly journal: Journal
}

/** The parts that a test brings itself. */
export interface ReplicatedWorldOptions {
  readonly count?: number
  readonly minInSync?: number
  readonly clock?: ManualClock
  /** Default: one that finds this shard alone. */
  readonly router?: ShardRouter
  /** The keys of the shard. Default: all. */
  readonly range?: KeyRange
  /** The hybrid clock of the first node. */
  readonly hybridClock?: HybridClock
  /** The settings of the shard, and what a node keeps its indexes with. Default: no indexes. */
  readonly indexed?: {
    readonly settings: TableSettings
    readonly partsOf: (node: NodeId) => IndexParts
  }
  /** How far the wall clock of each node is ahead, in milliseconds. Default: not at all. */
  readonly aheadMs?: readonly number[]
}

export class ReplicatedWorld implements AsyncDisposable {
  readonly clock: ManualClock
  readonly nodes: readonly TestNode[]
  readonly control: TestControlPlane
  /** Whether a message from one node to another is lost. */
  isLost: (from: NodeId, to: NodeId) => boolean = () => false
  /** Called at a start of a node, before its replica is opened. */
  onHost: (host: ReplicaHost) => Promise<void> = async () => undefined
  /** Whether a node hears nothing of changes in the control plane. */
  isDeaf: (node: NodeId) => boolean = () => false
  /** Messages of replicas, and beats of nodes, that were sent. */
  readonly sent = { messages: 0, beats: 0, bytes: 0 }

  readonly #options: ReplicatedWorldOptions

  private constructor(options: ReplicatedWorldOptions) {
    const { count = 3, minInSync = 2 } = options
    this.#options = options
    this.clock = options.clock ?? new ManualClock()
    const names = Array.from({ length: count }, (_, i) => `n${i + 1}`)
    this.nodes = names.map((name, i) => new TestNode(name, i + 1))
    const replicas = this.nodes.map(({ replica }) => replica)
    this.control = new TestControlPlane({
      revision: 1,
      epoch: 1,
      leader: must(replicas[0], 'a first node'),
      replicas: names,
      inSync: replicas,
      eligible: [],
      minInSync,
      operation: 'first',
    })
  }

  static async open(options: ReplicatedWorldOptions = {}): Promise<ReplicatedWorld> {
    const world = new ReplicatedWorld(options)
    for (const node of world.nodes) await world.start(node)
    return world
  }

  node(id: NodeId): TestNode {
    return must(
      this.nodes.find((node) => node.id === id),
      `node ${id}`,
    )
  }

  get leader(): TestNode {
    return must(
      this.nodes.find(({ isServing }) => isServing),
      'a node that serves',
    )
  }

  async start(node: TestNode): Promise<void> {
    const { clock } = this
    const journal = await openTestJournal({ disk: node.disk, clock, mayMark: true })
    const known: { shard?: LocalShard } = {}
    const network = {
      send: (to: NodeId, message: Buffer) => {
        this.sent.messages += 1
        this.sent.bytes += message.length
        this.#deliver(node, to, (host) => host.receive(node.id, Buffer.from(message)))
      },
      sendBeat: (to: NodeId, beat: Buffer) => {
        this.sent.beats += 1
        this.sent.bytes += beat.length
        this.#deliver(node, to, async (host) => host.receiveBeat(node.id, Buffer.from(beat)))
      },
    }
    const host = await ReplicaHost.open({
      self: node.replica,
      stores: node.disk,
      journal,
      clock,
      hybridClock: await this.#hybridClockOf(node),
      log: silentLog,
      router: this.#options.router ?? routesTo(() => known.shard),
      configurations: {
        configurationOf: () => this.control.configuration,
        onConfiguration: (_shard, listener) =>
          this.control.onChange((configuration) => {
            if (!this.isDeaf(node.id)) listener(configuration)
          }),
        controlOf: () => this.control.controlOf(),
        leaving: () => this.control.leaving,
        onLeaving: (listener) => this.control.onLeaving(listener),
      },
      network,
      indexes: this.#options.indexed?.partsOf(node.id),
      led: node.led,
    })
    await this.onHost(host)
    const range = this.#options.range ?? { start: Buffer.alloc(0), end: undefined }
    const settings = this.#options.indexed?.settings ?? { ...NO_SETTINGS, tableId: 't' }
    const shard = await host.start({ id: SHARD, range }, settings)
    known.shard = shard
    node.running = { host, shard, journal }
  }

  async #hybridClockOf(node: TestNode): Promise<HybridClock> {
    const own = node === this.nodes[0] ? this.#options.hybridClock : undefined
    if (own !== undefined) return own
    const aheadMs = this.#options.aheadMs?.[this.nodes.indexOf(node)] ?? 0
    return HybridClock.open(aheadBy(this.clock, aheadMs), memoryBound)
  }

  /** The process and its machine lose power. */
  async kill(node: TestNode): Promise<void> {
    const { running } = node
    node.running = undefined
    node.disk.restart()
    await running?.host.close()
    await running?.journal.close().catch(() => undefined)
  }

  async restart(node: TestNode): Promise<void> {
    node.incarnation += 1
    await this.start(node)
  }

  #deliver(from: TestNode, to: NodeId, receive: (host: ReplicaHost) => Promise<void>): void {
    const sender = from.running
    setImmediate(() => {
      // What a process has sent may arrive after its end, but not from one that is gone and came again.
      if (this.isLost(from.id, to) || (sender !== undefined && from.running !== sender)) return
      const host = this.node(to).running?.host
      if (host !== undefined) void receive(host)
    })
  }

  /** Lets virtual time pass until the condition holds. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    for (let step = 0; step < STEPS_MAX; step++) {
      if (await condition()) return
      await this.step()
    }
    expect.fail('the condition never held')
  }

  /** Settles with the answer, while virtual time passes. */
  async when<Answer>(answer: Promise<Answer>): Promise<Answer> {
    let isSettled = false
    const done = (): void => {
      isSettled = true
    }
    answer.then(done, done)
    await this.until(() => isSettled)
    return answer
  }

  async step(): Promise<void> {
    this.clock.advance(STEP_MS)
    for (let turn = 0; turn < TURNS_PER_STEP; turn++) await nextTurn()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) {
      const { running } = node
      node.running = undefined
      await running?.host.close()
      await running?.journal.close().catch(() => undefined)
    }
  }
}
