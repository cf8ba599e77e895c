import { expect } from 'chai'
import { access, readdir } from 'node:fs/promises'
import path from 'node:path'
import { systemClock } from '../../../../../lib/clock.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import type { Journal } from '../../../../../node/journal/journal.ts'
import { openReplicaLogs } from '../../../../../node/replication/log/replica-log.ts'
import { restartedLogs } from '../../../../../node/replication/log/restarted-logs.ts'
import type { Arrivals } from '../../../../../node/replication/snapshot/arrivals.ts'
import { FIRST_PAGE } from '../../../../../node/replication/snapshot/snapshot-messages.ts'
import type { SnapshotTarget } from '../../../../../node/replication/snapshot/snapshot-target.ts'
import { readAppliedPosition } from '../../../../../node/shard/replica-snapshot.ts'
import { LevelStoreFactory } from '../../../../../node/storage/level-store-factory.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { failureOf } from '../../../../support/failure-of.ts'
import { FaultyDisk } from '../../../../support/fakes/faulty-disk.ts'
import { ReplicaSource } from '../../../../support/worlds/replica-source.ts'
import { openTestJournal } from '../../../../support/worlds/test-journal.ts'
import {
  entriesOf,
  LOG,
  memoryStore,
  POSITION,
  SnapshotWorld,
  storeOps,
} from '../../../../support/worlds/snapshot-world.ts'

const NEW_OPS = storeOps(900, 1000)
const NEW_FILES = { 'text-v1': { manifest: Buffer.from('new') } }
const READER = 'reader'
const never = new AbortController().signal

class Crash extends Error {}

/** A node with an old replica that has fallen behind. */
class Behind implements AsyncDisposable {
  readonly disk: FaultyDisk
  readonly world: SnapshotWorld
  readonly source: ReplicaSource
  journal: Journal
  stores: LevelStoreFactory
  /** What a process that ends would have open. */
  readonly targets: SnapshotTarget[] = []

  private constructor(world: SnapshotWorld, disk: FaultyDisk, journal: Journal) {
    this.world = world
    this.disk = disk
    this.journal = journal
    this.stores = world.stores
    this.source = new ReplicaSource(journal, LOG)
  }

  static async open(): Promise<Behind> {
    const world = await SnapshotWorld.open()
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk, mayMark: true })
    const behind = new Behind(world, disk, journal)
    await behind.source.promise(3)
    for (const text of ['one', 'two', 'three']) await behind.source.append(text, 3)
    await using store = await world.stores.open(LOG)
    await store.write(storeOps(10, 10, behind.source.last), { sync: false })
    await store.flush()
    return behind
  }

  async target(arrivals: Arrivals): Promise<{ target: SnapshotTarget; pages: readonly Buffer[] }> {
    const { world } = this
    world.replicas.set(LOG, world.replica(await memoryStore(NEW_OPS), NEW_FILES))
    const source = await world.source()
    const header = await source.open(READER, { logId: LOG, atLeast: 0 })
    const wanted = { id: header.id, after: FIRST_PAGE }
    const pages = await Array.fromAsync(source.pages(READER, wanted, never))
    const target = await arrivals.begin(LOG, header)
    this.targets.push(target)
    return { target, pages }
  }

  /** Everything in memory is gone. What is on the disk comes up again. */
  async restart(): Promise<readonly string[]> {
    this.disk.restart()
    this.journal = await openTestJournal({ disk: this.disk, mayMark: true })
    this.stores = await LevelStoreFactory.open(path.join(this.world.directory, 'stores'), {
      clock: systemClock,
      ownLog: 'discard',
    })
    const arrivals = await this.arrivals()
    return arrivals.settle((logIds) => restartedLogs(this.journal, logIds))
  }

  arrivals(replaceStore?: (name: string, from: string) => Promise<void>): Promise<Arrivals> {
    const usual = (name: string, from: string): Promise<void> => this.stores.replace(name, from)
    return this.world.arrivals({ replaceStore: replaceStore ?? usual })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
  }
}

type Stop = (point: CrashPoint) => void

/** The way of an arrival, as a shell goes it. */
async function build(behind: Behind, stop: Stop): Promise<void> {
  const arrivals = await behind.arrivals(async (name, from) => {
    stop('between the indexes and the store')
    await behind.stores.destroy(name)
    stop('while the name has no store')
    await behind.stores.replace(name, from)
    stop('after the new store has its name')
  })
  const { target, pages } = await behind.target(arrivals)
  for (const page of pages) {
    if (page === pages[2]) stop('between two pages')
    await target.take(page)
  }
  stop('before the end is verified')
  await target.finish()
  stop('before the arrival is complete')
  const { position } = await arrivals.complete(LOG, target.header.position)
  stop('before the mark')
  await behind.source.restart(position)
  stop('after the mark')
  await arrivals.swap(LOG)
}

/** Which replica a start finds after a crash. */
const OUTCOMES = {
  'between two pages': 'old',
  'before the end is verified': 'old',
  'before the arrival is complete': 'old',
  'before the mark': 'old',
  'after the mark': 'new',
  'between the indexes and the store': 'new',
  'while the name has no store': 'new',
  'after the new store has its name': 'new',
  never: 'new',
} as const
type CrashPoint = keyof typeof OUTCOMES

function isCrashPoint(name: string): name is CrashPoint {
  return name in OUTCOMES
}
const CRASH_POINTS = Object.keys(OUTCOMES).filter(isCrashPoint)

async function crashAt(behind: Behind, crash: CrashPoint): Promise<void> {
  const failure = await failureOf(
    build(behind, (point) => {
      if (point === crash) throw new Crash(point)
    }),
  )
  if (crash === 'never') expect(failure).to.equal(undefined)
  else expect(failure).to.be.instanceOf(Crash)
  for (const target of behind.targets) await target.close()
}

describe('a replica that is built from a snapshot', () => {
  for (const crash of CRASH_POINTS) {
    const outcome = OUTCOMES[crash]
    it(`is the ${outcome} one when the process ends: ${crash}`, async () => {
      await using behind = await Behind.open()
      const { last } = behind.source
      const old = { ops: storeOps(10, 10, last), position: last }
      await crashAt(behind, crash)

      await behind.restart()

      await using store = await behind.stores.open(LOG)
      const expected = outcome === 'old' ? old : { ops: NEW_OPS, position: POSITION }
      const content = await entriesOf(store)
      expect(content).to.deep.equal(await entriesOf(await memoryStore(expected.ops)))
      const applied = readAppliedPosition(store)
      expect(applied).to.deep.equal(expected.position)
      const logs = await openReplicaLogs(behind.journal, new Map([[LOG, expected.position]]))
      expect(logs.get(LOG)).to.have.nested.property('log.last').that.deep.equals(expected.position)
      expect(await readdir(behind.world.incoming)).to.deep.equal([])
      expect(await readdir(path.join(behind.world.directory, 'stores'))).to.deep.equal([LOG])
      const indexes = await behind.world.files(behind.world.indexRoot).catch(() => 'no indexes')
      const files = { [path.join(LOG, 'text-v1', 'manifest')]: 'new' }
      expect(indexes).to.deep.equal(outcome === 'old' ? 'no indexes' : files)
    })
  }

  it('survives a second crash while the start completes the swap', async () => {
    await using behind = await Behind.open()
    await crashAt(behind, 'after the mark')
    const first = await behind.arrivals(async () => {
      throw new Crash('again')
    })
    const none = await first.settle((logIds) => restartedLogs(behind.journal, logIds))

    const swapped = await behind.restart()

    expect(none).to.deep.equal([])
    expect(swapped).to.deep.equal([LOG])
    await using store = await behind.stores.open(LOG)
    expect(readAppliedPosition(store)).to.deep.equal(POSITION)
  })

  it('is not taken for the one of an earlier mark', async () => {
    await using behind = await Behind.open()
    await behind.source.restart({ sequence: 69, epoch: 3, crc: 1 })
    await crashAt(behind, 'before the mark')

    const swapped = await behind.restart()

    expect(swapped).to.deep.equal([])
    expect(await readdir(behind.world.incoming)).to.deep.equal([])
  })

  it('may be the first one on its node', async () => {
    await using behind = await Behind.open()
    await behind.stores.destroy(LOG)
    await crashAt(behind, 'never')

    await using store = await behind.stores.open(LOG)

    expect(readAppliedPosition(store)).to.deep.equal(POSITION)
  })

  it('is refused while the old store is open', async () => {
    await using behind = await Behind.open()
    await crashAt(behind, 'after the mark')
    await using store = await behind.stores.open(LOG)
    const arrivals = await behind.arrivals()

    const failure = await errorOf(() => arrivals.swap(LOG))

    expect(failure).to.be.instanceOf(ServiceError)
    expect(readAppliedPosition(store)?.sequence).to.equal(3)
    await access(path.join(behind.world.incoming, LOG, 'store'))
  })
})
