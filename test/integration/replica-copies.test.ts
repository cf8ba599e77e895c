// Replicas on real disks, with journals so small that they soon forget: a replica that comes late, or whose disk
// is damaged, is copied from another node's.

import { randomBytes } from 'node:crypto'
import { mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { HybridClock } from '../../node/clock/hybrid-clock.ts'
import { LoopbackLink } from '../../node/replicas/loopback-link.ts'
import { ReplicaAudit } from '../../node/replicas/replica-audit.ts'
import { offerCopy, ReplicaCopies } from '../../node/replicas/replica-copies.ts'
import { ReplicaCounts } from '../../node/replicas/replica-counts.ts'
import { ReplicaHost } from '../../node/replicas/replica-host.ts'
import { LedShards } from '../../node/catalog/tables/led-shards.ts'
import { DiskJournalDirectory } from '../../node/journal/disk-journal-directory.ts'
import { Journal } from '../../node/journal/journal.ts'
import type { PeerHandlers } from '../../node/peer/peer.ts'
import { restartedLogs } from '../../node/replication/log/restarted-logs.ts'
import { Arrivals } from '../../node/replication/snapshot/arrivals.ts'
import { contentHashOf } from '../../node/replication/snapshot/content-hash.ts'
import { snapshotHandlers } from '../../node/replication/snapshot/snapshot-handlers.ts'
import { SNAPSHOT_LIMITS } from '../../node/replication/snapshot/snapshot-limits.ts'
import { SnapshotSource } from '../../node/replication/snapshot/snapshot-source.ts'
import { documentKey } from '../../node/shard/format/keyspace.ts'
import { NO_SETTINGS } from '../../node/shard/command/table-settings.ts'
import type { LocalShard } from '../../node/shard/local-shard.ts'
import { parseShardId, type ShardId } from '../../node/shard/shard-id.ts'
import { readAppliedPosition } from '../../node/shard/replica-snapshot.ts'
import { LevelKvStore } from '../../node/storage/level-kv-store.ts'
import { LevelStoreFactory } from '../../node/storage/level-store-factory.ts'
import { errorOf } from '../support/error-of.ts'
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
  readonly counts = new ReplicaCounts()
  /** Otherwise only comparisons find damage. */
  checksTables = true
  /** Otherwise nobody looks for damage here. */
  isLooking = true
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

  get replica() {
    return { node: this.id, incarnation: this.incarnation }
  }

  get storeDirectory(): string {
    return path.join(this.directory, 'shards', SHARD)
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
      leaving: () => this.#control.leaving,
      onLeaving: (listener: () => void) => this.#control.onLeaving(listener),
    }
    const linksFrom = (to: string): LoopbackLink =>
      new LoopbackLink(this.id, must(this.#nodes.get(to), to).handlers, clock)
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
      offerSnapshot: (id, to) => offerCopy(linksFrom(to), id),
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
      linkTo: linksFrom,
      clock,
      random: seededRandom(1),
      log,
      counts: this.counts,
      handOver: async (_shard, to) => this.#control.elect(must(this.#nodes.get(to), to).replica),
    })
    const onDamaged = (id: ShardId, reason: ServiceError): void => copies.replaceDamaged(id, reason)
    stores.onDamage((name, error) => onDamaged(parseShardId(name), error))
    const audit = new ReplicaAudit({
      self: this.id,
      host: {
        hosted: () => (this.isLooking ? host.hosted() : []),
        hostedOf: (id) => host.hostedOf(id),
        find: (id) => host.find(id),
      },
      configurations,
      hashes: source.hashes,
      // A round that has begun asks nobody any more either.
      linkTo: (to) => (this.isLooking ? linksFrom(to) : undefined),
      directoryOf: (id) => stores.directoryOf(id),
      onDamaged,
      counts: this.counts,
      intervalMs: 100,
      clock,
      log,
      // A test may damage a table that was just written.
      settledMs: this.checksTables ? 500 : Infinity,
    })
    this.source = source
    this.handlers = new Map([
      ...snapshotHandlers(source),
      ...copies.handlers(),
      ...audit.handlers(),
    ])
    this.host = host
    this.counts.damaged += host.damaged.size
    if (host.damaged.has(SHARD)) copies.rebuild(RECORD, SETTINGS)
    else await host.start(RECORD, SETTINGS)
    this.#close = async () => {
      await audit.close()
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
      // Text that cannot be packed: a bit of it that flips is another text.
      const text = randomBytes(6000).toString('base64')
      const ops = [putOp(`k${at}`, text), putOp('same', at)]
      await shard.write({ checks: [], ops, ttl: undefined })
    }
  }

  async expectEqual(): Promise<void> {
    const nodes = [...this.nodes.values()]
    const committed = Math.max(...nodes.map(({ shard }) => shard.committedSequence))
    await until(async () =>
      nodes.every(({ host }) => (host?.find(SHARD)?.appliedSequence ?? 0) >= committed),
    )
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

/** The files of a store whose names match, the largest first. */
async function filesOf(directory: string, pattern: RegExp): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter((name) => pattern.test(name))
  const files = names.map((name) => path.join(directory, name))
  const sizes = new Map(
    await Promise.all(files.map(async (file) => [file, (await stat(file)).size] as const)),
  )
  return files.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0))
}

/** Flips a bit as a disk does that forgets: the file keeps its time. */
async function flip(file: string, ratio: number): Promise<void> {
  const { size, atime, mtime } = await stat(file)
  const offset = Math.floor(size * ratio)
  const handle = await open(file, 'r+')
  const byte = Buffer.alloc(1)
  await handle.read(byte, 0, 1, offset)
  await handle.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, offset)
  await handle.utimes(atime, mtime)
  await handle.close()
}

/** Flips a bit in the table that has these bytes, which cannot be packed. */
async function flipInside(directory: string, bytes: Buffer): Promise<void> {
  for (const file of await filesOf(directory, /\.ldb$/)) {
    const content = await readFile(file)
    const at = content.indexOf(bytes)
    if (at !== -1) return flip(file, (at + bytes.length / 2) / content.length)
  }
  throw new Error('no table has them')
}

/** Only a comparison finds it: another value than the other replicas have, under its own checksum. */
async function writeWrongEntry(directory: string): Promise<void> {
  await using store = await LevelKvStore.open(directory, { clock: systemClock })
  const key = documentKey(Buffer.from('k7'))
  const value = must(store.get(key), 'k7')
  value[value.length - 3] = (value[value.length - 3] ?? 0) ^ 1
  await store.write([{ type: 'put', key, value }], { sync: true })
  await store.flush()
}

/** The damage is found, and in the end another replica than `before` has what the leader has. */
async function expectRebuilt(world: DiskWorld, name: string, before?: LocalShard): Promise<void> {
  const node = world.node(name)
  await until(async () => node.counts.damaged > 0)
  await until(async () => {
    const shard = node.host?.find(SHARD)
    const isNew = shard !== undefined && shard !== before && shard.appliedSequence > 0
    return isNew && world.isInSync(name)
  })
  await world.expectEqual()
}

/** All replicas have the same, in table files. */
async function openFull(): Promise<DiskWorld> {
  const world = await DiskWorld.open()
  await world.node('n3').start()
  await world.fill(0, 120)
  await until(async () => world.isInSync('n3'))
  // Into table files.
  for (const { shard } of world.nodes.values()) await shard.store.flush()
  return world
}

describe('a bit that flips on the disk of a replica', function () {
  this.timeout(200_000)

  it('is found in a table of a follower by the checksums, while it runs', async () => {
    await using world = await openFull()
    const node = world.node('n3')
    const before = node.shard

    let polls = 0
    await until(async () => {
      // Once in two seconds: a merge of tables may have taken the block from memory, where it is whole.
      if (polls % 200 === 0) {
        const [table] = await filesOf(node.storeDirectory, /\.ldb$/)
        if (table !== undefined) await flip(table, 0.1 + (polls / 200) * 0.05)
      }
      polls += 1
      return node.counts.damaged > 0
    })

    await expectRebuilt(world, 'n3', before)
  })

  it('is found in a table of a follower by the comparison with its leader', async () => {
    await using world = await openFull()
    const node = world.node('n3')
    await node.stop()
    await writeWrongEntry(node.storeDirectory)
    node.checksTables = false

    await node.start()

    await expectRebuilt(world, 'n3')
    expect(world.node('n1').counts.comparisons.different).to.be.greaterThan(0)
  })

  it('is found by the read of the leader that meets it, and no read shows it', async () => {
    await using world = await openFull()
    const node = world.node('n3')
    const key = Buffer.from('k60')
    const whole = must(world.node('n1').shard.store.get(documentKey(key)), 'k60')
    await node.stop()
    await flipInside(node.storeDirectory, whole.subarray(-1000))
    for (const { id } of world.nodes.values()) world.node(id).isLooking = false
    await node.start()
    await until(async () => world.isInSync('n3'))
    const before = node.shard
    world.control.elect(node.replica)
    await until(async () => before.replicated?.isServing === true)

    const error = await errorOf(async () => before.read(key))

    expect(error).to.include({ code: 'CORRUPTION' })
    await until(async () => world.control.configuration.leader?.node !== 'n3')
    await expectRebuilt(world, 'n3', before)
    expect(node.shard.store.get(documentKey(key))).to.deep.equal(whole)
  })

  it('is found in a table of the leader, which another replica then replaces', async () => {
    await using world = await openFull()
    const node = world.node('n3')
    await node.stop()
    const [table] = await filesOf(node.storeDirectory, /\.ldb$/)
    await flip(must(table, 'a table'), 0.4)
    for (const { id } of world.nodes.values()) world.node(id).isLooking = false
    await node.start()
    await until(async () => world.isInSync('n3'))
    const before = node.shard
    world.control.elect(node.replica)
    await until(async () => before.replicated?.isServing === true)

    node.isLooking = true

    await until(async () => world.control.configuration.leader?.node !== 'n3')
    await expectRebuilt(world, 'n3', before)
  })

  const opening = { 'the manifest': /^MANIFEST/, CURRENT: /^CURRENT$/ }
  for (const [name, pattern] of Object.entries(opening)) {
    it(`is found in ${name} of a store at the next start`, async () => {
      await using world = await openFull()
      const node = world.node('n3')
      await node.stop()
      const [file] = await filesOf(node.storeDirectory, pattern)
      await flip(must(file, name), 0.5)
      await until(
        async () => !world.control.configuration.inSync.some(({ node: id }) => id === 'n3'),
      )

      await node.start()

      await expectRebuilt(world, 'n3')
    })
  }
})
