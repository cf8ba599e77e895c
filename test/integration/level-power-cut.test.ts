// A power failure under a shard on LevelDB: nothing in LevelDB's own log was ever synced, so any of
// it may be missing; table files and the journal were.

import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { HybridClock, timestampAtMs, TIMESTAMP_ZERO } from '../../node/clock/hybrid-clock.ts'
import { DiskJournalDirectory } from '../../node/journal/disk-journal-directory.ts'
import { Journal } from '../../node/journal/journal.ts'
import { LocalShard } from '../../node/shard/local-shard.ts'
import { parseShardId } from '../../node/shard/shard-id.ts'
import { NO_SETTINGS } from '../../node/shard/command/table-settings.ts'
import { buildTransactionId } from '../../node/shard/command/transaction-id.ts'
import { LevelStoreFactory } from '../../node/storage/level-store-factory.ts'
import { memoryBound, putOp } from '../support/worlds/shard-world.ts'
import { routesTo } from '../support/worlds/routes.ts'
import { intervalOfKey } from '../support/worlds/routes.ts'

const ID = parseShardId('00000000000000aa')
const MIB = 1024 * 1024
const random = seededRandom(11)

interface Opened extends AsyncDisposable {
  readonly shard: LocalShard
}

async function openShard(root: string): Promise<Opened> {
  const clock = systemClock
  const journal = await Journal.open({
    directory: await DiskJournalDirectory.open(path.join(root, 'journal')),
    clock,
    log: silentLog,
    randomBits: () => Math.floor(random() * 0x1_0000_0000),
    hasRoomFor: () => true,
    onFailure: (error) => {
      throw error
    },
    segmentBytes: MIB,
    keptBytes: 6 * MIB,
  })
  const stores = await LevelStoreFactory.open(path.join(root, 'shards'), {
    clock,
    ownLog: 'discard',
    writeBufferBytes: MIB,
  })
  const hybridClock = await HybridClock.open(clock, memoryBound)
  const shard: LocalShard = await LocalShard.open({
    id: ID,
    range: { start: Buffer.alloc(0), end: undefined },
    store: await stores.open(ID),
    journal,
    hybridClock,
    clock,
    router: routesTo(() => shard),
    settings: NO_SETTINGS,
  })
  return {
    shard,
    [Symbol.asyncDispose]: async () => {
      await shard.close()
      await journal.close()
      await hybridClock.close()
    },
  }
}

const isLevelLog = (name: string): boolean => /^\d+\.log$/.test(name)

const isMissingFile = (failure: unknown): boolean =>
  failure instanceof Error && 'code' in failure && failure.code === 'ENOENT'

/** The names and lengths of all files. LevelDB's logs are without a length: they only ever grow. */
async function structureOf(root: string): Promise<string> {
  const describeFile = async (name: string): Promise<string> => {
    if (isLevelLog(path.basename(name))) return name
    return `${name} ${(await stat(path.join(root, name))).size}`
  }
  return (await Promise.all((await readdir(root, { recursive: true })).map(describeFile))).join()
}

/** Copies the files of one moment; resolves with false if there was none. */
async function copyMoment(root: string, copy: string): Promise<boolean> {
  try {
    const before = await structureOf(root)
    await cp(root, copy, { recursive: true })
    return (await structureOf(root)) === before
  } catch (error) {
    if (isMissingFile(error)) return false
    throw error
  }
}

/**
 * LevelDB writes and deletes files in a thread of its own and the journal lets segments go, so a copy during
 * which any file came or went is of no moment at all, and is made again.
 */
async function copyLive(root: string, copy: string): Promise<void> {
  while (!(await copyMoment(root, copy))) await rm(copy, { recursive: true, force: true })
}

/** The disk as a power failure at this moment may leave it: of LevelDB's logs chance keeps a part. */
async function imageOf(root: string, image: string): Promise<void> {
  await copyLive(root, image)
  const store = path.join(image, 'shards', ID)
  for (const name of await readdir(store)) {
    if (!isLevelLog(name)) continue
    const { length } = await readFile(path.join(store, name))
    await truncate(path.join(store, name), Math.floor(random() * (length + 1)))
  }
}

const noise = (length: number): string =>
  Array.from({ length: length / 8 }, () => Math.floor(random() * 0xffff_ffff).toString(36)).join('')

describe('a power failure under a shard on LevelDB', () => {
  let root = ''
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-power-'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  it("loses no acknowledged prepare behind a full log of LevelDB's", async function () {
    this.timeout(240_000)
    const data = path.join(root, 'data')
    const image = path.join(root, 'image')
    const prepared: string[] = []
    {
      await using opened = await openShard(data)
      const { shard } = opened
      for (let at = 0; at < 60; at++) {
        const key = Buffer.from(`k${at}`)
        const anchor = { tableId: 't', key }
        const bits = at.toString(16).padStart(16, '0')
        const transactionId = buildTransactionId(timestampAtMs(systemClock.nowMs()), bits)
        const begin = { participants: [intervalOfKey(anchor)] }
        const ops = [putOp(`k${at}`, noise(100_000))]
        await shard.prepare({ transactionId, anchor, begin, checks: [], ops, ttl: undefined })
        prepared.push(`k${at}`)
        if (at === 59) break
        const commit = { transactionId, anchor: key, decision: 'commit' } as const
        const decision = await shard.decide({ ...commit, commitAtLeast: TIMESTAMP_ZERO })
        await shard.resolve({ transactionId, decision })
      }
      await imageOf(data, image)
    }

    await using again = await openShard(image)

    expect(again.shard.led.heldKeys).to.equal(1)
    for (const key of prepared.slice(0, -1)) {
      expect(await again.shard.read(Buffer.from(key)), key).to.not.equal(undefined)
    }
  })

  it('finds every acknowledged write again, whatever part of the logs is left', async function () {
    this.timeout(240_000)
    const data = path.join(root, 'data')
    await using opened = await openShard(data)
    const written: string[] = []
    for (let round = 0; round < 6; round++) {
      for (let at = 0; at < 200; at++) {
        const key = `r${round}-${at}`
        const ops = [putOp(key, noise(2000)), putOp('same', key)]
        await opened.shard.write({ checks: [], ops, ttl: undefined })
        written.push(key)
      }
      const image = path.join(root, `image${round}`)
      await imageOf(data, image)
      await using again = await openShard(image)
      for (const key of written) {
        expect(await again.shard.read(Buffer.from(key)), key).to.not.equal(undefined)
      }
      expect((await again.shard.read(Buffer.from('same')))?.toString()).to.include(written.at(-1))
    }
  })

  it("loses nothing by a flipped bit in LevelDB's log", async function () {
    this.timeout(240_000)
    const data = path.join(root, 'data')
    const image = path.join(root, 'image')
    {
      await using opened = await openShard(data)
      for (let at = 0; at < 300; at++) {
        await opened.shard.write({ checks: [], ops: [putOp(`k${at}`, at)], ttl: undefined })
      }
      await opened.shard.settled()
      await copyLive(data, image)
    }
    const store = path.join(image, 'shards', ID)
    const log = (await readdir(store)).find(isLevelLog)
    const file = path.join(store, log ?? '')
    const bytes = await readFile(file)
    const at = bytes.length - 500
    expect(at).to.be.greaterThan(0)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await writeFile(file, bytes)

    await using again = await openShard(image)

    for (let key = 0; key < 300; key++) {
      expect(await again.shard.read(Buffer.from(`k${key}`)), `k${key}`).to.not.equal(undefined)
    }
  })

  it('makes a shard refuse to open when its journal is missing', async () => {
    const data = path.join(root, 'data')
    {
      await using opened = await openShard(data)
      await opened.shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined })
    }
    await rm(path.join(data, 'journal'), { recursive: true })

    const failure = await openShard(data).then(
      () => undefined,
      (error: unknown) => error,
    )

    expect(failure).to.include({ code: 'CORRUPTION' })
  })
})
