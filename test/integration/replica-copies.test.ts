// Replicas on real disks, with journals so small that they soon forget: a replica that comes late, or whose disk
// is damaged, is copied from another node's.

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { HybridClock } from '../../node/clock/hybrid-clock.ts'
import { LoopbackLink } from '../../node/coordinator/cluster/loopback-link.ts'
import { ReplicaCopies } from '../../node/coordinator/cluster/replica-copies.ts'
import { ReplicaHost } from '../../node/coordinator/cluster/replica-host.ts'
import { LedShards } from '../../node/coordinator/shards/led-shards.ts'
import { DiskJournalDirectory } from '../../node/journal/disk-journal-directory.ts'
import { Journal } from '../../node/journal/journal.ts'
import type { PeerHandlers } from '../../node/peer/peer.ts'
import { restartedLogs } from '../../node/replication/log/restarted-logs.ts'
import { Arrivals } from '../../node/replication/snapshot/arrivals.ts'
import { contentHashOf } from '../../node/replication/snapshot/content-hash.ts'
import { snapshotHandlers } from '../../node/replication/snapshot/snapshot-handlers.ts'
import { SNAPSHOT_LIMITS } from '../../node/replication/snapshot/snapshot-limits.ts'
import { SnapshotSource } from '../../node/replication/snapshot/snapshot-source.ts'
import { NO_SETTINGS } from '../../node/shard/command/table-settings.ts'
import type { LocalShard } from '../../node/shard/local-shard.ts'
import { readAppliedPosition } from '../../node/shard/replica-snapshot.ts'
import { LevelKvStore } from '../../node/storage/level-kv-store.ts'
import { LevelStoreFactory } from '../../node/storage/level-store-factory.ts'
import { until } from '../support/until.ts'
import { SHARD, TestControlPlane } from '../support/worlds/replicated-world.ts'
import { routesTo } from '../support/worlds/routes.ts'
import { memoryBound, putOp } from '../support/worlds/shard-world.ts'

const RECORD = { id: SHARD, range: { start: Buffer.alloc(0), end: undefined } }
const SETTINGS = { ...NO_SETTINGS, tableId: 't' }
const SEGMENT_BYTES = 64 * 1024
/** Writes of 8000 bytes: a leader keeps the newest 4 MiB in memory. */
const BEYOND_MEMORY = 800

class DiskNode {
  readonly id: string
  readonly directory: string
  readonly #nodes: Map<string, DiskNode>
  readonly #control: TestControlPlane
  incarnation = 0
  host: ReplicaHost | undefined
  handlers: PeerHandlers = new Map()
  source: SnapshotSource | undefined
  #close: (() => Promise<void>) | undefined

  constructor(id: string, root: string, others: Pick<DiskWorld, 'nodes' | 'control'>) {
    this.id = id
    this.directory = path.join(root, id)
    this.#nodes = others.nodes
    this.#control = others.control
  }

  get shard(): LocalShard {
    return must(this.host?.find(SHARD), `the replica of ${this.id}`)
  }

  async start(): Promise<void> {
    this.incarnation += 1
    const { clock, log } = { clock: systemClock, log: silentLog }
    const journal = await Journal.open({
      directory: await DiskJournalDirectory.open(path.join(this.directory, 'journal')),
      clock,
      log,
      randomBits: () => randomBytes(4).readUInt32BE(),
      hasRoomFor: () => true,
      onFailure: (error) => {
        throw error
      },
      segmentBytes: SEGMENT_BYTES,
      keptBytes: 2 * SEGMENT_BYTES,
      wantedBytes: 3 * SEGMENT_BYTES,
      mayMark: true,
    })
    const options = { clock, ownLog: 'discard' } as const
    const stores = await LevelStoreFactory.open(path.join(this.directory, 'shards'), options)
    const arrivals = await Arrivals.open({
      directory: path.join(this.directory, 'incoming'),
      indexRoot: path.join(this.directory, 'indexes'),
      openStore: (directory) => LevelKvStore.open(directory, { clock }),
      replaceStore: (name, directory) => stores.replace(name, directory),
      readPosition: readAppliedPosition,
      admit: () => undefined,
      log,
    })
    await arrivals.settle((ids) => restartedLogs(journal, ids))
    const configurations = {
      configurationOf: () => this.#control.configuration,
      onConfiguration: (_shard: unknown, listener: Parameters<TestControlPlane['onChange']>[0]) =>
        this.#control.onChange(listener),
      controlOf: () => this.#control.controlOf(),
    }
    const late: { copies?: ReplicaCopies } = {}
    const host = await ReplicaHost.open({
      self: { node: this.id, incarnation: this.incarnation },
      stores,
      journal,
      clock,
      hybridClock: await HybridClock.open(clock, memoryBound),
      log,
      router: routesTo(() => host.find(SHARD)),
      configurations,
      network: {
        send: (to, message) => void this.#nodes.get(to)?.receive(this.id, message),
        sendBeat: () => undefined, // as if all were lost
      },
      indexes: undefined,
      led: new LedShards(),
      offerSnapshot: ({ id }, to) => late.copies?.offer(id, to),
    })
    const source = await SnapshotSource.open({
      replicaOf: () => host.find(SHARD)?.copied,
      directory: path.join(this.directory, 'outgoing'),
      clock,
      log,
      randomBytes,
      limits: SNAPSHOT_LIMITS,
    })
    const copies = new ReplicaCopies({
      self: this.id,
      host,
      configurations,
      arrivals,
      source,
      linkTo: (to) =>
        new LoopbackLink(this.id, () => must(this.#nodes.get(to), to).handlers, clock),
      clock,
      random: seededRandom(1),
      log,
    })
    late.copies = copies
    this.source = source
    this.handlers = new Map([...snapshotHandlers(source), ...copies.handlers()])
    this.host = host
    if (host.damaged.has(SHARD)) copies.rebuild(RECORD, SETTINGS)
    else await host.start(RECORD, SETTINGS)
    this.#close = async () => {
      await copies.close()
      await source.closeAll()
      await host.close()
      await journal.close()
    }
  }

  async receive(from: string, message: Buffer): Promise<void> {
    await this.host?.receive(from, Buffer.from(message)).catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.handlers = new Map()
    this.host = undefined
    await this.#close?.()
    this.#close = undefined
  }
}

class DiskWorld implements AsyncDisposable {
  readonly nodes = new Map<string, DiskNode>()
  readonly control: TestControlPlane
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
    const names = ['n1', 'n2', 'n3']
    const replicas = names.map((node) => ({ node, incarnation: 1 }))
    const [leader, second] = replicas
    this.control = new TestControlPlane({
      revision: 1,
      epoch: 1,
      leader,
      replicas: names,
      // n3 is a learner: it comes late.
      inSync: [must(leader, 'n1'), must(second, 'n2')],
      eligible: [],
      minInSync: 2,
      operation: 'first',
    })
    for (const name of names) this.nodes.set(name, new DiskNode(name, root, this))
  }

  static async open(): Promise<DiskWorld> {
    const world = new DiskWorld(await mkdtemp(path.join(tmpdir(), 'quarry-copies-')))
    await world.node('n1').start()
    await world.node('n2').start()
    await until(async () => world.node('n1').shard.replicated?.isServing === true)
    return world
  }

  node(name: string): DiskNode {
    return must(this.nodes.get(name), name)
  }

  isInSync(name: string): boolean {
    const { incarnation } = this.node(name)
    return this.control.configuration.inSync.some(
      (member) => member.node === name && member.incarnation === incarnation,
    )
  }

  /** Far more than the journals keep. */
  async fill(from: number, to: number): Promise<void> {
    const { shard } = this.node('n1')
    for (let at = from; at < to; at++) {
      const ops = [putOp(`k${at}`, 'x'.repeat(8000)), putOp('same', at)]
      await shard.write({ checks: [], ops, ttl: undefined })
    }
  }

  async expectEqual(): Promise<void> {
    const { committedSequence } = this.node('n1').shard
    const nodes = [...this.nodes.values()]
    await until(async () => nodes.every(({ shard }) => shard.appliedSequence >= committedSequence))
    const hashes = await Promise.all(
      nodes.map(async ({ shard }) => (await contentHashOf(shard.store)).hash.toString('hex')),
    )
    expect(new Set(hashes).size).to.equal(1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes.values()) await node.stop()
    await rm(this.#root, { recursive: true, force: true })
  }
}

describe('a replica that its leader cannot bring up to date by its log', function () {
  this.timeout(200_000)

  it('is copied when it comes late, follows, and joins those in sync', async () => {
    await using world = await DiskWorld.open()
    await world.fill(0, BEYOND_MEMORY)

    await world.node('n3').start()

    await until(async () => world.isInSync('n3'))
    expect(world.node('n1').source?.sentBytes).to.be.greaterThan(100_000)
    await world.fill(BEYOND_MEMORY, BEYOND_MEMORY + 10)
    await world.expectEqual()
  })

  it('is built anew when its journal is gone, and starts again as it is', async () => {
    await using world = await DiskWorld.open()
    await world.fill(0, 120)
    await world.node('n3').start()
    await until(async () => world.isInSync('n3'))
    await world.node('n3').stop()
    await rm(path.join(world.node('n3').directory, 'journal'), { recursive: true })
    await until(async () => !world.control.configuration.inSync.some(({ node }) => node === 'n3'))
    await world.fill(120, 140)

    await world.node('n3').start()

    await until(async () => world.isInSync('n3'))
    await world.node('n3').stop()
    await world.fill(140, 150)
    await world.node('n3').start()
    await until(async () => world.isInSync('n3'))
    await world.expectEqual()
  })
})
