import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../../lib/clock.ts'
import { millisOf, TIMESTAMP_ZERO, type Timestamp } from '../../../../../node/clock/hybrid-clock.ts'
import { jsonOf } from '../../../../../node/shard/format/document-record.ts'
import { collectHistory } from '../../../../../node/shard/housekeeping/history-collection.ts'
import { EXPIRY_GRACE_MS, expireDue } from '../../../../../node/shard/housekeeping/expiry.ts'
import { retimeDocuments } from '../../../../../node/shard/housekeeping/expiry.ts'
import { keyspaceRange, type Keyspace } from '../../../../../node/shard/format/keyspace.ts'
import type { TtlPolicy } from '../../../../../node/schema/document-rules.ts'
import { parseFieldPath } from '../../../../../node/document/field-path.ts'
import { NO_SETTINGS } from '../../../../../node/shard/command/table-settings.ts'
import { deleteOp, putOp, ShardWorld } from '../../../../support/worlds/shard-world.ts'
import { errorOf } from '../../../../support/error-of.ts'
import {
  documentOf,
  insert,
  SwarmHarness,
  WRITE,
  writesOf,
} from '../../../../support/servers/swarm-harness.ts'

const KEYS = ['a', 'b', 'c']
const TTL: TtlPolicy = {
  generation: 1,
  field: parseFieldPath('_timestamp', 'ttl_field'),
  durationMs: 60_000,
}

async function countOf(world: ShardWorld, keyspace: Keyspace): Promise<number> {
  let count = 0
  for await (const page of world.shard('s').store.pages(keyspaceRange(keyspace))) {
    count += page.length
  }
  return count
}

async function contentAt(world: ShardWorld, at: Timestamp): Promise<unknown> {
  const shard = world.shard('s')
  const { signal } = new AbortController()
  const pages = await Array.fromAsync(await shard.scan({ range: shard.range, at, signal }))
  return pages.flat().map(({ key, record }) => [key.toString(), jsonOf(record).toString()])
}

const step = fc.record({ key: fc.constantFrom(...KEYS), kind: fc.constantFrom('put', 'delete') })

describe('collecting history', () => {
  it('keeps the versions that readers at or above the horizon see, and drops all others', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.nat(12),
        async (steps, cut) => {
          await using world = await ShardWorld.open(['s'])
          const points: Timestamp[] = []
          for (const [i, { key, kind }] of steps.entries()) {
            const ops = [kind === 'put' ? putOp(key, i) : deleteOp(key)]
            await world.shard('s').write({ checks: [], ops, ttl: undefined })
            points.push(world.hybridClock.now())
          }
          const readable = points.slice(cut % points.length)
          const before = await Promise.all(readable.map((at) => contentAt(world, at)))
          const [horizon] = readable
          if (horizon === undefined) throw new RangeError('a point to read at remains')

          await collectHistory(world.shard('s').led, horizon)

          const after = await Promise.all(readable.map((at) => contentAt(world, at)))
          expect(after).to.deep.equal(before)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('keeps only the newest documents once all are older than the horizon', async () => {
    await using world = await ShardWorld.open(['s'])
    const shard = world.shard('s')
    for (const value of [1, 2, 3]) {
      await shard.write({ checks: [], ops: [putOp('a', value), putOp('b', value)], ttl: undefined })
    }
    await shard.write({ checks: [], ops: [deleteOp('b')], ttl: undefined })

    await collectHistory(shard.led, world.hybridClock.now())

    expect(await countOf(world, 'history')).to.equal(0)
    expect(await countOf(world, 'documents')).to.equal(1)
  })
})

describe('a reader below what was collected', () => {
  it('is refused with HISTORY_GONE, before a restart and after it', async () => {
    await using world = await ShardWorld.open(['s'])
    const write = (value: number) =>
      world.shard('s').write({ checks: [], ops: [putOp('a', value)], ttl: undefined })
    await write(1)
    const early = world.hybridClock.now()
    await write(2)
    const horizon = world.hybridClock.now()
    await collectHistory(world.shard('s').led, horizon)

    const before = await errorOf(() => contentAt(world, early))
    await world.restart()
    const after = await errorOf(() => contentAt(world, early))

    expect(before).to.include({ code: 'HISTORY_GONE' })
    expect(after).to.include({ code: 'HISTORY_GONE' })
    expect(await contentAt(world, horizon)).to.deep.equal([['a', '{"value":2}']])
  })
})

describe('expiring documents', () => {
  it('hides them at once and deletes them only after the grace period', async () => {
    const clock = new ManualClock()
    await using world = await ShardWorld.open(['s'], { clock, ttl: TTL })
    const shard = world.shard('s')
    const expiry = { kind: 'after-write', durationMs: TTL.durationMs } as const
    const key = Buffer.from('a')
    const json = Buffer.from('{}')
    await shard.write({ checks: [], ops: [{ kind: 'put', key, json, expiry }], ttl: TTL })
    expect(await shard.read(key)).to.not.equal(undefined)
    for (let i = 0; i < TTL.durationMs; i += 1000) {
      clock.advance(1000)
      await world.hybridClock.keepAhead()
    }

    expect(await shard.read(key)).to.equal(undefined)
    expect(await contentAt(world, world.hybridClock.now())).to.deep.equal([])
    const absent = { key, version: TIMESTAMP_ZERO }
    const checked = await shard.write({ checks: [absent], ops: [], ttl: TTL })
    expect(checked.kind).to.equal('written')
    expect(await expireDue(shard.led, clock.nowMs())).to.equal(0)
    clock.advance(EXPIRY_GRACE_MS + 1)
    await world.hybridClock.keepAhead()
    expect(await expireDue(shard.led, millisOf(world.hybridClock.now()))).to.equal(1)
    expect(await countOf(world, 'expiry')).to.equal(0)
  })
})

describe('a policy that is added over documents with a time before 1970 (p16)', () => {
  it('expires them, and ends the pass that gives documents their expiry', async () => {
    const ttl: TtlPolicy = { ...TTL, field: parseFieldPath('born', 'ttl_field') }
    await using world = await ShardWorld.open(['s'], { clock: new ManualClock() })
    const shard = world.shard('s')
    const key = Buffer.from('old')
    const json = Buffer.from('{"born":"1969-07-20T00:00:00Z"}')
    const put = { kind: 'put', key, json, expiry: { kind: 'none' } } as const
    await shard.write({ checks: [], ops: [put], ttl: undefined })

    await shard.led.setSettings({ ...NO_SETTINGS, ttl })
    const { signal } = new AbortController()
    const [changed, again] = [
      await retimeDocuments(shard.led, signal),
      await retimeDocuments(shard.led, signal),
    ]

    expect([changed, again]).to.deep.equal([1, 0])
    expect(await shard.read(key)).to.equal(undefined)
    expect(await expireDue(shard.led, millisOf(world.hybridClock.now()))).to.equal(1)
    expect(await countOf(world, 'expiry')).to.equal(0)
  })
})

describe('the versions of a key', () => {
  it('increase over restarts although the wall clock steps back an hour', async () => {
    const clock = new ManualClock()
    await using harness = await SwarmHarness.open({ clock })
    await harness.store.createTable('t', {})
    const versions: bigint[] = []
    for (let round = 0; round < 3; round++) {
      await harness.store.batch(writesOf('t', { inserts: [insert('a', { round })] }), WRITE)
      versions.push((await documentOf(harness.store, 't', 'a'))?.version ?? 0n)
      clock.stepWall(-3_600_000)
      await harness.restart()
    }

    expect(versions).to.deep.equal([...new Set(versions)].toSorted((a, b) => (a < b ? -1 : 1)))
    expect(versions).to.have.length(3)
  })
})
