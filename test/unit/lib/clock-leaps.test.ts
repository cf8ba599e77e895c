import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import {
  documentOf,
  insert,
  SwarmHarness,
  WRITE,
  writesOf,
} from '../../support/servers/swarm-harness.ts'

const HOUR_MS = 3_600_000

async function increment({ store }: SwarmHarness): Promise<void> {
  const operations = [{ operator: '$inc', path: ['n'], value: Buffer.from('1') }] as const
  const transforms = [{ key: Buffer.from('c'), upsert: true, operations }]
  const idempotency = { key: 'k', digest: 'd' }
  await store.batch(writesOf('u', { transforms }), { ...WRITE, idempotency })
}

describe('a wall clock that leaps two hours ahead for a while', () => {
  it('neither deletes fresh documents nor forgets idempotency keys', async () => {
    const clock = new ManualClock()
    await using harness = await SwarmHarness.open({ clock })
    const { store } = harness
    await store.createTable('t', { schema: { ttl_duration: '1h' } })
    await store.createTable('u', {})
    await store.batch(writesOf('t', { inserts: [insert('a', { x: 1 })] }), WRITE)
    await increment(harness)

    clock.stepWall(2 * HOUR_MS)
    await harness.advance(40_000)
    clock.stepWall(-2 * HOUR_MS)
    await harness.advance(2000)
    await increment(harness)

    expect((await documentOf(store, 't', 'a'))?.value).to.deep.equal({ x: 1 })
    expect((await documentOf(store, 'u', 'c'))?.value).to.deep.equal({ n: 1 })
  })

  it("is reported by the cluster status until the store's time agrees with it again", async () => {
    const clock = new ManualClock()
    await using harness = await SwarmHarness.open({ clock })
    clock.stepWall(2 * HOUR_MS)

    const leapt = await harness.store.status()
    clock.stepWall(-2 * HOUR_MS)
    const set = await harness.store.status()

    expect(leapt.clock_offset_ms).to.equal(2 * HOUR_MS)
    expect(leapt.message).to.include('7200 s ahead of the time of the store')
    expect(set.clock_offset_ms).to.equal(0)
    expect(set.message).to.equal('all shards serve')
  })
})

describe('a wall clock that steps two hours back', () => {
  it('stops neither the collection of history nor expiry', async () => {
    const clock = new ManualClock()
    await using harness = await SwarmHarness.open({ clock })
    const { store } = harness
    await store.createTable('t', { schema: { ttl_duration: '1h' } })
    await store.createTable('u', {})
    clock.stepWall(-2 * HOUR_MS)
    await harness.advance(2000)
    await store.batch(writesOf('t', { inserts: [insert('b', { x: 1 })] }), WRITE)
    const before = (await harness.entries('history')).length

    for (let minute = 0; minute < 50; minute++) {
      await store.batch(writesOf('u', { inserts: [insert('hot', { minute })] }), WRITE)
      await harness.advance(60_000, 30_000)
    }
    const kept = (await harness.entries('history')).length - before
    await harness.advance(0.3 * HOUR_MS, 60_000)

    expect(kept).to.be.within(9, 13)
    expect(await documentOf(store, 't', 'b')).to.equal(undefined)
  })
})
