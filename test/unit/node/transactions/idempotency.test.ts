import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { IDEMPOTENCY_TABLE } from '../../../../node/transactions/idempotency.ts'
import { TABLES_MAX } from '../../../../node/catalog/admin/table-admin.ts'
import { errorOf } from '../../../support/error-of.ts'
import {
  documentOf,
  insert,
  settle,
  SwarmHarness,
  WRITE,
  writesOf,
} from '../../../support/servers/swarm-harness.ts'

const ONCE = { ...WRITE, idempotency: { key: 'once', digest: 'd' } }

describe('a commit that is sent twice at once under one Idempotency-Key', () => {
  it('has one effect, and gives both requests its answer (INV-T12)', async () => {
    await using harness = await SwarmHarness.open()
    const { store, disk } = harness
    await store.createTable('t', { split_keys: ['m'] })
    await store.crossBatch([], { ...WRITE, idempotency: { key: 'warm', digest: 'w' } })
    const claim = { table: 't', key: Buffer.from('a'), version: 0n }
    const writes = [writesOf('t', { inserts: [insert('a', {}), insert('z', {})] })]
    disk.hold('after')
    const first = store.commit([claim], writes, ONCE)
    await disk.whenHeld()
    const second = store.commit([claim], writes, ONCE)
    await settle()
    disk.release()
    await harness.advance(1000, 10)

    const [one, other] = await Promise.all([first, second])

    expect(one).to.include({ status: 'committed' })
    expect(other).to.deep.equal(one)
    expect(await documentOf(store, 't', 'a')).to.not.equal(undefined)
  })
})

function insertOnce({ store }: SwarmHarness, key = 'once'): Promise<unknown> {
  const writes = writesOf('t', { inserts: [insert('a', { n: 1 })] })
  return store.batch(writes, { ...WRITE, idempotency: { key, digest: 'd' } })
}

const INSERTED = { inserted: 1, deleted: 0, transformed: 0 }

describe('a write that is sent again under its Idempotency-Key', () => {
  it('gets its first answer although the schema would refuse it now', async () => {
    await using harness = await SwarmHarness.open()
    await harness.store.createTable('t', {})
    await insertOnce(harness)
    const schema = { enforce_types: true, document_schemas: { x: { schema: {} } } }
    await harness.store.updateSchema('t', schema)

    expect(await insertOnce(harness)).to.deep.equal(INSERTED)
    expect(await errorOf(() => insertOnce(harness, 'other'))).to.include({
      code: 'INVALID_ARGUMENT',
    })
  })

  it('gets its first answer, and has no effect, after its table was dropped and made again', async () => {
    await using harness = await SwarmHarness.open()
    await harness.store.createTable('t', {})
    await insertOnce(harness)
    await harness.store.dropTable('t')
    const dropped = await insertOnce(harness)
    await harness.store.createTable('t', {})
    const made = await insertOnce(harness)

    expect([dropped, made]).to.deep.equal([INSERTED, INSERTED])
    expect(await documentOf(harness.store, 't', 'a')).to.equal(undefined)
  })

  it('is refused for another request, and forgotten after an hour', async () => {
    await using harness = await SwarmHarness.open({ clock: new ManualClock() })
    await harness.store.createTable('t', {})
    await insertOnce(harness)
    const other = { ...WRITE, idempotency: { key: 'once', digest: 'another' } }

    const misused = await errorOf(() => harness.store.batch(writesOf('t', {}), other))
    await harness.advance(3_601_000, 60_000)
    const anew = await harness.store.batch(writesOf('t', {}), other)

    expect(misused).to.include({ code: 'IDEMPOTENCY_MISMATCH' })
    expect(anew).to.deep.equal({ inserted: 0, deleted: 0, transformed: 0 })
  })
})

describe('commits that are sent three times at once', () => {
  it('take effect, because they contend only with their duplicates', async () => {
    await using harness = await SwarmHarness.open()
    const { store } = harness
    await store.createTable('t', { split_keys: ['m'] })
    const statuses = new Set<string>()

    for (let i = 0; i < 20; i++) {
      const claim = { table: 't', key: Buffer.from(`a${i}`), version: 0n }
      const writes = [writesOf('t', { inserts: [insert(`a${i}`, {}), insert(`z${i}`, {})] })]
      const options = { ...WRITE, idempotency: { key: `k${i}`, digest: 'd' } }
      const sent = Array.from({ length: 3 }, () => store.commit([claim], writes, options))
      for (const { status } of await Promise.all(sent)) statuses.add(status)
    }

    expect([...statuses]).to.deep.equal(['committed'])
  })
})

describe('the table of idempotency keys', () => {
  it('spreads keys over its shards', async () => {
    await using harness = await SwarmHarness.open()
    await harness.store.createTable('t', {})

    for (let i = 0; i < 64; i++) await insertOnce(harness, `key-${i}`)

    const stored = (await harness.entries('documents')).filter(([, record]) =>
      record.includes('digest'),
    )
    const firstDigits = new Set(stored.map(([key]) => key.toString('latin1').charAt(1)))
    expect(stored).to.have.lengthOf(64)
    expect(firstDigits.size).to.be.greaterThan(10)
  })

  it('works with one shard where it was created so', async () => {
    await using harness = await SwarmHarness.open()
    await harness.store.createTable('t', {})
    const schema = { ttl_duration: '1h' }
    await harness.tableAdmin.createUnchecked(IDEMPOTENCY_TABLE, { schema })
    await insertOnce(harness)

    expect(await insertOnce(harness)).to.deep.equal(INSERTED)
    const keys = (await harness.entries('documents')).map(([key]) => key.subarray(1).toString())
    expect(keys).to.include('once')
  })

  it('fits beside the maximum of tables', async () => {
    await using harness = await SwarmHarness.open()
    for (let i = 0; i < TABLES_MAX - 1; i++) await harness.store.createTable(`u${i}`, {})
    await harness.store.createTable('t', {})

    expect(await insertOnce(harness)).to.deep.equal(INSERTED)
    expect(await errorOf(() => harness.store.createTable('more', {}))).to.include({
      code: 'INVALID_ARGUMENT',
    })
  }).timeout(240_000)

  it('does not count towards the maximum when it was created first', async () => {
    await using harness = await SwarmHarness.open()
    await harness.store.createTable('t', {})
    await insertOnce(harness)

    for (let i = 0; i < TABLES_MAX - 1; i++) await harness.store.createTable(`u${i}`, {})

    expect(await errorOf(() => harness.store.createTable('more', {}))).to.include({
      code: 'INVALID_ARGUMENT',
    })
  }).timeout(240_000)
})
