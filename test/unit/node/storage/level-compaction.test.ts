import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import type { KvOp } from '../../../../node/storage/kv-store.ts'
import type { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'
import {
  DELETED_BYTES_MIN,
  DeletedBytes,
  isWorthCompacting,
  PIECE_BYTES_MAX,
  piecesOf,
  type CompactedRange,
} from '../../../../node/storage/level-compaction.ts'
import { LevelStoreFactory } from '../../../../node/storage/level-store-factory.ts'
import { collectHistory } from '../../../../node/shard/housekeeping/history-collection.ts'
import type { WriteOp } from '../../../../node/shard/command/command.ts'
import { deleteOp, ShardWorld } from '../../../support/worlds/shard-world.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'

const MIB = 1024 * 1024
const VALUE_BYTES = 16 * 1024
const ENTRIES = 768
const NEVER = new AbortController().signal
const ignored = (): void => undefined

const keyOf = (at: number): Buffer => Buffer.from(`k${String(at).padStart(6, '0')}`)

describe('the disk of deleted entries', () => {
  let root = ''
  let stores: LevelStoreFactory

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-compaction-'))
    stores = await LevelStoreFactory.open(root, { clock: systemClock, ownLog: 'replay' })
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  const tableBytes = (name: string): number => {
    const files = readdirSync(path.join(root, name)).filter((file) => file.endsWith('.ldb'))
    return files.reduce((sum, file) => sum + statSync(path.join(root, name, file)).size, 0)
  }

  it('is given back, and what is left stays', async () => {
    await using store = await stores.open('s')
    await fill(store)
    await write(store, (key, at) => (at % 64 === 0 ? undefined : { type: 'del', key }))
    await store.flush()
    const before = tableBytes('s')

    const heard: string[] = []
    await stores.compact(NEVER, (name) => heard.push(name))

    expect(before).to.be.above(11 * MIB)
    expect(tableBytes('s')).to.be.below(MIB)
    expect(heard).to.deep.equal(['s'])
    for (let at = 0; at < ENTRIES; at += 1) {
      expect(store.get(keyOf(at))?.length).to.equal(at % 64 === 0 ? VALUE_BYTES : undefined)
    }
  })

  it('is left to LevelDB where it is little beside the store', async () => {
    await using store = await stores.open('s')
    await fill(store)
    await write(store, (key, at) => (at % 16 === 0 ? { type: 'del', key } : undefined))
    await store.flush()
    const before = readdirSync(path.join(root, 's'))

    await stores.compact(NEVER, expectNothing)

    expect(readdirSync(path.join(root, 's'))).to.deep.equal(before)
  })

  it('is given back once', async () => {
    await using store = await stores.open('s')
    await fill(store)
    await write(store, (key) => ({ type: 'del', key }))
    await stores.compact(NEVER, ignored)
    const before = readdirSync(path.join(root, 's'))

    await stores.compact(NEVER, expectNothing)

    expect(readdirSync(path.join(root, 's'))).to.deep.equal(before)
  })

  it('is given back while others write, and until the store is closed', async () => {
    const store = await stores.open('s')
    await fill(store)
    await write(store, (key) => ({ type: 'del', key }))

    const compacting = stores.compact(NEVER, ignored)
    const last = { type: 'put', key: keyOf(ENTRIES), value: Buffer.from('last') } as const
    await store.write([last], { sync: false })
    await store.close()
    await compacting

    await using again = await stores.open('s')
    expect(again.get(last.key)?.toString()).to.equal('last')
    expect(again.get(keyOf(1))).to.equal(undefined)
  })

  it('of overwritten and deleted documents comes back after their collection', async () => {
    const journal = await openTestJournal({ clock: systemClock })
    const world = await ShardWorld.open(['s'], { stores, journal })
    const shard = world.shard('s')
    for (const version of [1, 2]) {
      for (let at = 0; at < ENTRIES / 2; at += 16) {
        const ops = Array.from({ length: 16 }, (_, i) => putOf(at + i, version))
        await shard.write({ checks: [], ops, ttl: undefined })
      }
    }
    for (let at = 0; at < ENTRIES / 2; at += 1) {
      await shard.write({ checks: [], ops: [deleteOp(keyOf(at).toString())], ttl: undefined })
    }
    await collectHistory(shard.led, world.hybridClock.now())
    await shard.settled()
    await shard.store.flush()
    const before = tableBytes('s')

    await stores.compact(NEVER, ignored)

    expect(before).to.be.above(8 * MIB)
    expect(tableBytes('s')).to.be.below(MIB)
    await world[Symbol.asyncDispose]()
    await journal.close()
  }).timeout(60_000)
})

describe('the pieces of a compaction', () => {
  it('have few bytes each, and all that the whole has', async () => {
    // Where the entries are that have a MiB each: most keys begin alike.
    const keys = Array.from({ length: 200 }, (_, at) => Buffer.from(`documents/user-${at * 7919}`))
    const sizeOf = async ({ start, end }: CompactedRange): Promise<number> =>
      MIB * keys.filter((key) => !key.equals(end) && isWithin(key, { start, end })).length

    const whole = { start: Buffer.alloc(0), end: Buffer.alloc(64, 0xff) }
    const pieces = await Array.fromAsync(piecesOf(whole, sizeOf))

    const sizes = await Promise.all(pieces.map(sizeOf))
    expect(Math.max(...sizes)).to.be.at.most(PIECE_BYTES_MAX)
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(200 * MIB)
    expect(pieces.length).to.be.below(40)
  })

  it('end where keys cannot be told apart', async () => {
    const key = Buffer.from('one large document')
    const sizeOf = async (range: CompactedRange): Promise<number> =>
      isWithin(key, range) ? 100 * MIB : 0

    const whole = { start: Buffer.alloc(0), end: Buffer.alloc(64, 0xff) }
    const pieces = await Array.fromAsync(piecesOf(whole, sizeOf))

    expect(pieces).to.have.length(1)
  })
})

describe('the estimate of deleted bytes', () => {
  it('counts a deleted entry as those of its keyspace', () => {
    const deleted = new DeletedBytes()
    deleted.note({ type: 'put', key: Buffer.from('a1'), value: Buffer.alloc(998) })
    deleted.note({ type: 'put', key: Buffer.from('b1'), value: Buffer.alloc(8) })
    deleted.note({ type: 'del', key: Buffer.from('a1') })
    deleted.note({ type: 'del', key: Buffer.from('b1') })

    expect(deleted.estimate).to.equal(1010)
    deleted.restart()
    expect(deleted.estimate).to.equal(0)
  })

  it('is worth a compaction from a quarter of the store on', () => {
    expect(isWorthCompacting(DELETED_BYTES_MIN, 4 * DELETED_BYTES_MIN)).to.equal(true)
    expect(isWorthCompacting(DELETED_BYTES_MIN, 4 * DELETED_BYTES_MIN + 1)).to.equal(false)
    expect(isWorthCompacting(DELETED_BYTES_MIN - 1, 0)).to.equal(false)
  })
})

function isWithin(key: Buffer, { start, end }: CompactedRange): boolean {
  return Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0
}

function expectNothing(name: string): void {
  throw new TypeError(`${name} was compacted`)
}

async function fill(store: LevelKvStore): Promise<void> {
  // Random bytes, because the store compresses.
  await write(store, (key) => ({ type: 'put', key, value: randomBytes(VALUE_BYTES) }))
  await store.flush()
}

async function write(
  store: LevelKvStore,
  opOf: (key: Buffer, at: number) => KvOp | undefined,
): Promise<void> {
  for (let at = 0; at < ENTRIES; at += 1) {
    const op = opOf(keyOf(at), at)
    if (op !== undefined) await store.write([op], { sync: false })
  }
}

function putOf(at: number, version: number): WriteOp {
  const text = randomBytes(VALUE_BYTES / 2).toString('hex')
  const json = Buffer.from(JSON.stringify({ text, version }))
  return { kind: 'put', key: keyOf(at), json, expiry: { kind: 'none' } }
}
