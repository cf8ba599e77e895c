import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { HybridClock, TIMESTAMP_ZERO } from '../../../../node/clock/hybrid-clock.ts'
import { LocalShard } from '../../../../node/shard/local-shard.ts'
import { parseTransforms } from '../../../../node/document/transform.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import { documentKey } from '../../../../node/shard/format/keyspace.ts'
import { QUEUED_BYTES_MAX } from '../../../../node/shard/pending-proposals.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { buildTransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { parseShardId, type ShardId } from '../../../../node/shard/shard-id.ts'
import type { WriteOp } from '../../../../node/shard/command/command.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { countTo } from '../../../support/loads/load.ts'
import { parseTestSettings } from '../../../support/worlds/test-settings.ts'
import { errorOf } from '../../../support/error-of.ts'
import { deleteOp, memoryBound, putOp } from '../../../support/worlds/shard-world.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'
import { routesTo } from '../../../support/worlds/routes.ts'

const ID = parseShardId('0000000000000001')
const OTHER_ID = parseShardId('0000000000000002')
const RUNS = 100
const ITEMS = 40

interface Opened {
  readonly shard: LocalShard
  readonly disk: FaultyDisk
  readonly clock: ManualClock
  readonly hybridClock: HybridClock
}

interface OpenOptions {
  readonly disk?: FaultyDisk
  /** Whether a full disk is noticed before the write, as a guard does. */
  readonly isGuarded?: boolean
}

async function open({
  disk = new FaultyDisk(),
  isGuarded = true,
}: OpenOptions = {}): Promise<Opened> {
  const clock = new ManualClock()
  const hybridClock = await HybridClock.open(clock, memoryBound)
  const shard: LocalShard = await LocalShard.open({
    id: ID,
    range: { start: Buffer.alloc(0), end: undefined },
    store: await disk.open(ID),
    journal: await openTestJournal({ disk, clock }),
    admit: isGuarded ? () => disk.admit() : undefined,
    hybridClock,
    clock,
    router: routesTo(() => shard),
    settings: NO_SETTINGS,
  })
  return { shard, disk, clock, hybridClock }
}

function write({ shard }: Opened, ...ops: readonly WriteOp[]) {
  return shard.write({ checks: [], ops, ttl: undefined })
}

async function isThere({ shard }: Opened, key: string): Promise<boolean> {
  return (await shard.read(Buffer.from(key))) !== undefined
}

async function keysOfScan({ shard, hybridClock }: Opened): Promise<readonly string[]> {
  const { signal } = new AbortController()
  const pages = await shard.scan({ range: shard.range, at: hybridClock.now(), signal })
  return (await Array.fromAsync(pages)).flat().map(({ key }) => key.toString())
}

/** Appends to the list of a document, in several steps. */
function appendOp(key: string, item: string): WriteOp {
  const operations = [{ op: '$push', path: 'items', value: item }]
  const json = JSON.stringify([{ key, upsert: true, operations }])
  const [transform] = parseTransforms(Buffer.from(json), 'transforms')
  return { kind: 'transform', key: Buffer.from(key), transform: must(transform, 'a transform') }
}

/** The writes of the disk that find no room, counted from those of now. */
interface Failing {
  readonly from: number
  readonly count: number
}

/** A shard whose commands take several turns, over a disk that is done after any number of turns and microtasks. */
async function openBusy(seed: number) {
  const random = seededRandom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  let writes = 0
  let failing: Failing | undefined
  const disk: FaultyDisk = new FaultyDisk(seed, {
    pace: async () => {
      for (let turns = below(4); turns > 0; turns -= 1) await nextTurn()
      for (let microtasks = below(40); microtasks > 0; microtasks -= 1) await Promise.resolve()
      const nth = writes++ - (failing?.from ?? Infinity)
      disk.failWrites(nth >= 0 && nth < (failing?.count ?? 0) ? 'DISK_FULL' : undefined)
    },
  })
  let ms = 0
  const clock = { ...systemClock, monotonicMs: () => (ms += below(8)) }
  const shard: LocalShard = await LocalShard.open({
    id: ID,
    range: { start: Buffer.alloc(0), end: undefined },
    store: await disk.open(ID),
    // Segments of a few groups, because only a new one needs room.
    journal: await openTestJournal({ disk, clock, segmentBytes: 2048, keptBytes: 4096 }),
    hybridClock: await HybridClock.open(clock, memoryBound),
    clock,
    router: routesTo(() => shard),
    settings: NO_SETTINGS,
  })
  const failWrites = (which: Failing | undefined): void => {
    writes = 0
    failing = which
  }
  return { shard, below, failWrites }
}

/** Appends each item behind another write, as soon as some turns are over. Answers those that were acknowledged. */
async function appendAll(shard: LocalShard, items: readonly string[]): Promise<readonly string[]> {
  const appended = items.map(async (item, n) => {
    for (let turns = n % 5; turns > 0; turns -= 1) await nextTurn()
    for (const op of [putOp(`other ${item}`, 1), appendOp('list', item)]) {
      try {
        await shard.write({ checks: [], ops: [op], ttl: undefined })
      } catch (error) {
        expect(error).to.include({ code: 'DISK_FULL' })
        return []
      }
    }
    return [item]
  })
  return (await Promise.all(appended)).flat()
}

async function listOf(shard: LocalShard): Promise<readonly string[]> {
  const found = await shard.read(Buffer.from('list'))
  if (found === undefined) return []
  const list: { readonly items: readonly string[] } = JSON.parse(jsonOf(found)?.toString() ?? '')
  return list.items
}

/** Two shards of one journal on a disk that is done after some turns. */
async function openPair(seed: number) {
  const random = seededRandom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const disk = new FaultyDisk(seed, {
    pace: async () => {
      for (let turns = below(4); turns > 0; turns -= 1) await nextTurn()
    },
  })
  let ms = 0
  const clock = { ...systemClock, monotonicMs: () => (ms += below(8)) }
  const journal = await openTestJournal({ disk, clock })
  const common = {
    range: { start: Buffer.alloc(0), end: undefined },
    journal,
    hybridClock: await HybridClock.open(clock, memoryBound),
    clock,
    router: routesTo(() => anchor),
    settings: NO_SETTINGS,
  }
  const openShard = async (id: ShardId) =>
    LocalShard.open({ ...common, id, store: await disk.open(id) })
  const anchor: LocalShard = await openShard(ID)
  const participant = await openShard(OTHER_ID)
  return { ...common, anchor, participant, below }
}

describe("a shard's log", () => {
  it('has the prepare of a participant on the disk when the decision of its transaction is', async () => {
    const { seed } = parseTestSettings(process.env)
    for (const run of countTo(RUNS)) {
      const { journal, hybridClock, anchor, participant, below } = await openPair(seed * RUNS + run)
      const transactionId = buildTransactionId(hybridClock.now(), 'f'.repeat(16))
      const at = { tableId: '00112233445566ff', key: Buffer.from('a') }
      const common = { transactionId, anchor: at, checks: [], ttl: undefined }
      const begin = { participants: [] }
      await anchor.prepare({ ...common, begin, ops: [putOp('a', 1)] })

      const others = countTo(below(8)).map((n) =>
        anchor.write({ checks: [], ops: [putOp(`other ${n}`, 1)], ttl: undefined }),
      )
      const ops = [appendOp('list', 'item')]
      const { outcome, fate } = await participant.prepareInOrder({
        ...common,
        begin: undefined,
        ops,
      })
      const decide = {
        transactionId,
        anchor: at.key,
        decision: 'commit',
        commitAtLeast: TIMESTAMP_ZERO,
      } as const
      await anchor.decide(decide, { after: [must(fate, 'the fate of the prepare')] })

      const entries = (await Array.fromAsync(journal.entries(OTHER_ID, 0))).flat()
      expect(outcome.kind).to.equal('prepared')
      expect(entries, `QUARRY_TEST_SEED=${seed}`).to.have.lengthOf(1)
      await Promise.all(others)
      await Promise.all([anchor.close(), participant.close()])
    }
  })

  it('shows each command what those before it did, whenever the journal takes a group', async () => {
    const { seed } = parseTestSettings(process.env)
    for (const run of countTo(RUNS)) {
      const { shard } = await openBusy(seed * RUNS + run)
      const items = countTo(ITEMS).map((n) => `i${n}`)

      const acknowledged = await appendAll(shard, items)

      expect(acknowledged).to.deep.equal(items)
      expect(await listOf(shard), `QUARRY_TEST_SEED=${seed}`).to.have.members(items)
      await shard.close()
    }
  })

  it('leaves nothing of what it refuses, however far a command was', async () => {
    const { seed } = parseTestSettings(process.env)
    let refused = 0
    for (const run of countTo(RUNS)) {
      const { shard, failWrites, below } = await openBusy(seed * RUNS + run)
      const items = countTo(ITEMS).map((n) => `i${n}`)

      failWrites({ from: below(24), count: 1 + below(4) })
      const acknowledged = await appendAll(shard, items)
      failWrites(undefined)
      const later = await appendAll(shard, ['later'])

      refused += items.length - acknowledged.length
      const wanted = [...acknowledged, ...later]
      expect(await listOf(shard), `QUARRY_TEST_SEED=${seed}`).to.have.members(wanted)
      await shard.close()
    }
    expect(refused, 'refused').to.be.above(RUNS / 2)
  })

  it('writes the proposals of one turn as one group', async () => {
    const opened = await open()
    await write(opened, putOp('first', 1))
    await opened.shard.settled()
    const before = opened.disk.writeCount

    await Promise.all(['a', 'b', 'c'].map((key) => write(opened, putOp(key, 1))))
    await opened.shard.settled()

    // One of the journal, one of the store.
    expect(opened.disk.writeCount - before).to.equal(2)
  })

  it('writes the store a little later in one batch, or at once for a waiting caller', async () => {
    const opened = await open()
    const { disk, clock, shard } = opened
    const isStored = (key: string) => shard.store.get(documentKey(Buffer.from(key))) !== undefined
    for (const key of ['a', 'b', 'c']) await write(opened, putOp(key, 1))
    expect(['a', 'b', 'c'].map(isStored)).to.deep.equal([false, false, false])
    const before = disk.writeCount

    clock.advance(10)
    await settle()

    expect(['a', 'b', 'c'].map(isStored)).to.deep.equal([true, true, true])
    expect(disk.writeCount - before).to.equal(1)
    await write(opened, putOp('d', 1))
    await shard.settled()
    expect(isStored('d')).to.equal(true)
  })

  it('shows a write only when it is durable', async () => {
    const opened = await open()
    await write(opened, putOp('other', 1))
    await opened.shard.settled()
    opened.disk.hold('before')
    const writing = write(opened, putOp('k', 1))
    await opened.disk.whenHeld()
    await settle()
    expect(await isThere(opened, 'k')).to.equal(false)

    opened.disk.release()
    await writing

    expect(await isThere(opened, 'k')).to.equal(true)
  })

  it('lets a proposal see those before it that are not durable', async () => {
    const opened = await open()
    opened.disk.hold('before')
    const first = write(opened, putOp('k', 1))
    await opened.disk.whenHeld()
    const second = opened.shard.write({
      checks: [{ key: Buffer.from('k'), version: TIMESTAMP_ZERO }],
      ops: [putOp('k', 2)],
      ttl: undefined,
    })
    opened.disk.release()

    expect((await first).kind).to.equal('written')
    expect((await second).kind).to.equal('version-changed')
  })

  it('refuses a write without room for it, and changes nothing', async () => {
    const opened = await open()
    await write(opened, putOp('k', 1))
    opened.disk.failWrites('DISK_FULL')

    const refused = await errorOf(() => write(opened, deleteOp('k')))
    opened.disk.failWrites(undefined)

    expect(refused).to.include({ code: 'DISK_FULL' })
    expect(await isThere(opened, 'k')).to.equal(true)
    expect((await write(opened, deleteOp('k'))).kind).to.equal('written')
  })

  it('reads nothing of the store for a write that the guard refuses (p11)', async () => {
    const opened = await open()
    const { shard, disk } = opened
    for (let at = 0; at < 100; at++) await write(opened, putOp('k', at))
    await shard.settled()
    const pages = shard.store.pages.bind(shard.store)
    let walks = 0
    shard.store.pages = (range) => {
      walks++
      return pages(range)
    }
    disk.failWrites('DISK_FULL')

    for (let at = 0; at < 5; at++) {
      const refused = await errorOf(() => write(opened, putOp('k', 'refused')))
      expect(refused).to.include({ code: 'DISK_FULL' })
    }
    await settle()

    expect(walks).to.equal(0)
  })

  it('keeps acknowledged writes when the store has no room for them', async () => {
    const opened = await open({ isGuarded: false })
    const { shard, disk, clock } = opened
    await write(opened, putOp('before', 1))
    await shard.settled()
    disk.failWrites('DISK_FULL')
    await write(opened, putOp('k', 1))
    clock.advance(10) // the store is written behind the answers
    await settle()
    expect((await shard.state()).kind).to.equal('read_only')
    expect(await isThere(opened, 'k')).to.equal(true)
    const refused = await errorOf(() => write(opened, putOp('later', 1)))
    expect(refused).to.include({ code: 'DISK_FULL' })
    expect(await keysOfScan(opened)).to.deep.equal(['before', 'k'])

    disk.failWrites(undefined)
    clock.advance(1000)
    await settle()

    expect(shard.store.get(documentKey(Buffer.from('k')))).to.not.equal(undefined)
    expect(await isThere(opened, 'later')).to.equal(false)
    expect((await write(opened, putOp('later', 1))).kind).to.equal('written')
    expect((await shard.state()).kind).to.equal('serving')
  })

  it('reports a store that fails permanently, and serves from memory', async () => {
    const opened = await open()
    await write(opened, putOp('k', 1))
    await opened.shard.settled()
    const failing = opened.shard.store
    failing.write = () => Promise.reject(new Error('EIO'))

    await write(opened, putOp('acknowledged', 1))
    opened.clock.advance(10)
    await settle()

    expect((await opened.shard.state()).kind).to.equal('failed')
    expect(await isThere(opened, 'acknowledged')).to.equal(true)
    expect(await errorOf(() => write(opened, putOp('later', 1)))).to.include({
      code: 'UNAVAILABLE',
    })
  })

  it('undoes applied commands when the journal has no room for them', async () => {
    const opened = await open({ isGuarded: false })
    const { shard, disk } = opened
    await write(opened, putOp('k', 1))
    await shard.settled()
    disk.failWrites('DISK_FULL')
    const large = putOp('large', 'x'.repeat(300_000)) // needs a segment of its own

    const refused = await Promise.all([
      errorOf(() => write(opened, deleteOp('k'), large)),
      errorOf(() => write(opened, putOp('beside', 1), large)),
    ])
    disk.failWrites(undefined)
    await settle()

    for (const error of refused) expect(error).to.include({ code: 'DISK_FULL' })
    expect(await isThere(opened, 'k')).to.equal(true)
    expect((await write(opened, deleteOp('k'))).kind).to.equal('written')
    expect(await isThere(opened, 'beside')).to.equal(false)
  })

  it('refuses more than it may keep in memory', async () => {
    const opened = await open()
    opened.disk.hold('before')
    const half = Buffer.alloc(QUEUED_BYTES_MAX / 2)
    const op = (key: string): WriteOp => ({
      kind: 'put',
      key: Buffer.from(key),
      json: half,
      expiry: { kind: 'none' },
    })
    const taken = write(opened, op('a'))

    const refused = await errorOf(() => write(opened, op('b')))
    opened.disk.release()

    expect(refused).to.include({ code: 'OVERLOADED' })
    expect((await taken).kind).to.equal('written')
  })

  it('refuses everything once the journal has failed', async () => {
    const opened = await open()
    await write(opened, putOp('k', 1))
    opened.disk.directory.failNextWrite()

    const lost = await errorOf(() => write(opened, putOp('lost', 1)))
    const later = await errorOf(() => write(opened, putOp('later', 1)))

    for (const error of [lost, later]) expect(error).to.include({ code: 'UNAVAILABLE' })
  })

  it('replays only the entries that the store has lost', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const disk = new FaultyDisk(seed)
      const opened = await open({ disk })
      for (let at = 0; at < 10; at++) {
        await write(opened, putOp('same', at), putOp(`k${at}`, at))
        if (at === 3) await opened.shard.store.flush()
      }
      disk.restart()

      const again = await open({ disk })

      for (let at = 0; at < 10; at++) expect(await isThere(again, `k${at}`)).to.equal(true)
      expect(again.shard.committedSequence).to.equal(10)
      expect(again.shard.appliedSequence).to.equal(10)
    }
  })
})
