import { expect } from 'chai'
import { seededRandom } from '../../../../lib/random.ts'
import { timestampAtMs } from '../../../../node/clock/hybrid-clock.ts'
import type { WriteOp } from '../../../../node/shard/command/command.ts'
import { encodeApplied } from '../../../../node/shard/format/applied-position.ts'
import {
  encodeRecord,
  ORDINAL_END,
  ordinalOf,
  versionOf,
} from '../../../../node/shard/format/document-record.ts'
import {
  APPLIED_KEY,
  documentKey,
  documentRange,
  keyOfDocumentKey,
  UNNUMBERED_KEY,
} from '../../../../node/shard/format/keyspace.ts'
import { numberDocuments } from '../../../../node/shard/housekeeping/numbering.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import { intervalOfKey } from '../../../support/worlds/routes.ts'
import { readLog } from '../../../../node/shard/format/stored-log.ts'
import type { KvStoreFactory } from '../../../../node/storage/kv-store.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { deleteOp, putOp, ShardWorld } from '../../../support/worlds/shard-world.ts'

const SHARDS: readonly (readonly ('a' | 'b')[])[] = [['a'], ['b'], ['a', 'b'], ['b', 'a']]
const NEVER = new AbortController().signal
const JSON_TEXT = Buffer.from('{"value":0}')
const ALL = { start: Buffer.alloc(0), end: undefined }

async function write(shard: LocalShard, ...ops: WriteOp[]): Promise<void> {
  const outcome = await shard.write({ checks: [], ops, ttl: undefined })
  expect(outcome.kind).to.equal('written')
}

/** The same operations on all of the shards, at one timestamp; the first is the anchor. */
async function commit(world: ShardWorld, names: readonly string[], ops: WriteOp[]): Promise<void> {
  const transactionId = world.newTransactionId()
  const key = ops[0]?.key ?? Buffer.alloc(0)
  const anchor = { tableId: names[0] ?? '', key }
  const participants = names.map((tableId) => intervalOfKey({ tableId, key }))
  let commitAtLeast = timestampAtMs(0)
  for (const name of names) {
    const begin = name === anchor.tableId ? { participants } : undefined
    const command = { transactionId, anchor, begin, checks: [], ops, ttl: undefined }
    const outcome = await world.shard(name).prepare(command)
    if (outcome.kind !== 'prepared') throw new RangeError(`not prepared: ${outcome.kind}`)
    if (outcome.commitAtLeast > commitAtLeast) ({ commitAtLeast } = outcome)
  }
  const command = { transactionId, anchor: key, decision: 'commit', commitAtLeast } as const
  const decision = await world.shard(anchor.tableId).decide(command)
  for (const name of names) await world.shard(name).resolve({ transactionId, decision })
}

async function ordinals(shard: LocalShard): Promise<Record<string, number | undefined>> {
  await shard.settled()
  const found: Record<string, number | undefined> = {}
  for await (const page of shard.store.pages(documentRange(ALL))) {
    for (const [stored, record] of page) {
      const ordinal = ordinalOf(record)
      if (ordinal !== undefined) found[keyOfDocumentKey(stored).toString()] = ordinal
    }
  }
  return found
}

describe('the ordinals of documents', () => {
  it('count inserts, stay the same through updates, and are new after a deletion', async () => {
    await using world = await ShardWorld.open(['a'])
    const shard = world.shard('a')

    await write(shard, putOp('x', 1), putOp('y', 1))
    await write(shard, putOp('x', 2))
    await write(shard, deleteOp('y'))
    await write(shard, putOp('z', 1), putOp('y', 2))

    expect(await ordinals(shard)).to.deep.equal({ x: 0, z: 2, y: 3 })
  })

  it('are not used up by a write that is refused', async () => {
    await using world = await ShardWorld.open(['a'])
    const shard = world.shard('a')
    const checks = [{ key: Buffer.from('x'), version: timestampAtMs(1) }]

    const refused = await shard.write({ checks, ops: [putOp('x', 1)], ttl: undefined })
    await write(shard, putOp('y', 1))

    expect(refused.kind).to.equal('version-changed')
    expect(await ordinals(shard)).to.deep.equal({ y: 0 })
  })

  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`are kept and never given twice, over transactions and power failures (seed ${seed})`, async () => {
      const random = seededRandom(seed)
      const pick = (count: number): number => Math.floor(random() * count)
      await using world = await ShardWorld.open(['a', 'b'])
      const given = { a: new Set<number>(), b: new Set<number>() }
      const known: Record<'a' | 'b', Record<string, number | undefined>> = { a: {}, b: {} }

      for (let round = 0; round < 120; round++) {
        const ops = Array.from({ length: 1 + pick(4) }, (_, i) => {
          const key = `k${pick(4) + 4 * i}`
          return pick(3) === 0 ? deleteOp(key) : putOp(key, round)
        })
        const names = SHARDS[pick(SHARDS.length)] ?? []
        const [one = 'a', other] = names
        if (other === undefined) await write(world.shard(one), ...ops)
        else await commit(world, names, ops)
        if (pick(15) === 0) await world.restart()

        for (const name of names) {
          const found = await ordinals(world.shard(name))
          for (const [key, ordinal = -1] of Object.entries(found)) {
            const before = known[name][key]
            const isRight = before === undefined ? !given[name].has(ordinal) : before === ordinal
            expect(isRight, `${key} in round ${round}`).to.equal(true)
            given[name].add(ordinal)
          }
          known[name] = found
        }
      }
    })
  }

  it('are missing behind the last one, and writes are accepted all the same', async () => {
    const stores = await storesWith([
      [APPLIED_KEY, encodeApplied({ sequence: 0, epoch: 0, crc: 0, nextOrdinal: ORDINAL_END - 1 })],
    ])
    await using world = await ShardWorld.open(['a'], { stores })
    const shard = world.shard('a')

    await write(shard, putOp('x', 1), putOp('y', 1))
    await write(shard, putOp('y', 2))

    expect(await ordinals(shard)).to.deep.equal({ x: ORDINAL_END - 1 })
  })
})

async function storesWith(rows: readonly (readonly [Buffer, Buffer])[]): Promise<KvStoreFactory> {
  const disk = new FaultyDisk()
  const store = await disk.open('a')
  await store.write(
    rows.map(([key, value]) => ({ type: 'put', key, value })),
    { sync: true },
  )
  await store.flush()
  await store.close()
  return disk
}

/** As programs without ordinals wrote them. */
function oldRows(count: number): [Buffer, Buffer][] {
  return Array.from({ length: count }, (_, i) => {
    const header = { version: timestampAtMs(i + 1), deleted: false, ttlGeneration: 0 }
    const record = encodeRecord({ ...header, expiresAtMs: 0 }, JSON_TEXT)
    return [documentKey(Buffer.from(`old${String(i).padStart(5, '0')}`)), record]
  })
}

describe('documents without ordinals', () => {
  it('get them in pieces, and keep their versions', async () => {
    const stores = await storesWith([...oldRows(2500), [UNNUMBERED_KEY, Buffer.alloc(0)]])
    await using world = await ShardWorld.open(['a'], { stores })
    const shard = world.shard('a')
    await write(shard, putOp('new', 1), putOp('old00007', 1), deleteOp('old00008'))

    const changed = await numberDocuments(shard.led, NEVER)

    const found = await ordinals(shard)
    expect(changed).to.equal(2498)
    expect(found['new']).to.equal(0)
    expect(found['old00007']).to.equal(1)
    expect(new Set(Object.values(found)).size).to.equal(2500)
    expect(Object.keys(found)).to.have.length(2500)
    const record = await shard.read(Buffer.from('old00003'))
    expect(record && versionOf(record)).to.equal(timestampAtMs(4))
    expect(shard.store.get(UNNUMBERED_KEY)).to.equal(undefined)
    expect(await numberDocuments(shard.led, NEVER)).to.equal(0)
  })

  it('are touched by their numbering, so that indexes follow it', async () => {
    const stores = await storesWith([...oldRows(3), [UNNUMBERED_KEY, Buffer.alloc(0)]])
    await using world = await ShardWorld.open(['a'], { stores })
    const shard = world.shard('a')

    await numberDocuments(shard.led, NEVER)

    const touched: string[] = []
    for await (const page of readLog(shard.store, 1)) {
      for (const { entry } of page) {
        for (const { key } of entry.touches) touched.push(key.toString())
      }
    }
    expect(touched).to.deep.equal(['old00000', 'old00001', 'old00002'])
  })

  it('keep their new ordinals over a power failure, after which the walk begins again', async () => {
    const stores = await storesWith([...oldRows(3000), [UNNUMBERED_KEY, Buffer.alloc(0)]])
    await using world = await ShardWorld.open(['a'], { stores })
    const keys = oldRows(1200).map(([stored]) => keyOfDocumentKey(stored))
    await world.shard('a').led.housekeep({ kind: 'number', keys, completes: false })
    const before = await ordinals(world.shard('a'))

    await world.restart()
    const restarted = await ordinals(world.shard('a'))
    await numberDocuments(world.shard('a').led, NEVER)
    const after = await ordinals(world.shard('a'))

    expect(Object.keys(before)).to.have.length(1200)
    expect(restarted).to.deep.equal(before)
    expect(after).to.deep.include(before)
    expect(new Set(Object.values(after)).size).to.equal(3000)
  })
})
