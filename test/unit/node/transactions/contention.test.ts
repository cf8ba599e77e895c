import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { timestampAtMs } from '../../../../node/clock/hybrid-clock.ts'
import { PartCollector } from '../../../../node/transactions/transaction-part.ts'
import { CONTENTION_DEADLINE_MS } from '../../../../node/transactions/transaction-runner.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import { buildTransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { errorOf } from '../../../support/error-of.ts'
import { putOp, ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'
import {
  documentOf,
  settle,
  SwarmHarness,
  WRITE,
  writesOf,
} from '../../../support/servers/swarm-harness.ts'

const WRITERS = 400

async function openTable(): Promise<SwarmHarness> {
  const harness = await SwarmHarness.open({ clock: new ManualClock() })
  await harness.store.createTable('t', { split_keys: ['m'] })
  return harness
}

function increment(
  { store }: SwarmHarness,
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<unknown> {
  const operations = [{ operator: '$inc', path: ['n'], value: Buffer.from('1') }] as const
  const transforms = keys.map((key) => ({ key: Buffer.from(key), upsert: true, operations }))
  return store.batch(writesOf('t', { transforms }), { ...WRITE, ...(signal && { signal }) })
}

async function valuesOf({ store }: SwarmHarness): Promise<unknown> {
  const found = await Promise.all(['a', 'z'].map((key) => documentOf(store, 't', key)))
  return found.map((document) => document?.value)
}

describe('many writers of the same two keys in two shards', () => {
  it('take turns at the cost of writing one after the other, without a timer', async () => {
    await using harness = await openTable()
    const { disk } = harness
    for (let i = 0; i < WRITERS; i++) await increment(harness, [`b${i}`, `y${i}`])
    const apart = disk.writeCount
    const contended = Array.from({ length: WRITERS }, (_, i) =>
      increment(harness, i % 2 === 0 ? ['a', 'z'] : ['z', 'a']),
    )
    await Promise.all(contended)

    expect(disk.writeCount - apart).to.be.at.most(1.1 * apart)
    expect(await valuesOf(harness)).to.deep.equal([{ n: WRITERS }, { n: WRITERS }])
  }).timeout(240_000)

  it('share the keys fairly with writers of one of them alone', async () => {
    await using harness = await openTable()
    const writers = Array.from({ length: WRITERS }, (_, i) =>
      increment(harness, i % 4 === 0 ? ['a', 'z'] : [i % 4 === 1 ? 'a' : 'z']),
    )

    await Promise.all(writers)

    expect(await valuesOf(harness)).to.deep.equal([{ n: WRITERS / 2 }, { n: (3 * WRITERS) / 4 }])
  })

  it('are refused with CONFLICT at their deadline, and do not delay later writers', async () => {
    await using harness = await openTable()
    const { disk, clock } = harness
    disk.hold('before')
    const first = increment(harness, ['a', 'z'])
    await disk.whenHeld()
    const second = errorOf(() => increment(harness, ['z', 'a']))
    await settle()
    if (clock instanceof ManualClock) clock.advance(CONTENTION_DEADLINE_MS)
    const refused = await second
    disk.release()
    await first
    await increment(harness, ['a', 'z'])

    expect(refused).to.include({ code: 'CONFLICT' })
    expect(await valuesOf(harness)).to.deep.equal([{ n: 2 }, { n: 2 }])
  })

  it('end with CANCELLED and without an effect when their client disconnects', async () => {
    await using harness = await openTable()
    const { disk } = harness
    disk.hold('before')
    const first = increment(harness, ['a', 'z'])
    await disk.whenHeld()
    const client = new AbortController()
    const second = errorOf(() => increment(harness, ['a', 'z'], client.signal))
    await settle()
    client.abort()
    const left = await second
    disk.release()
    await first

    expect(left).to.include({ code: 'CANCELLED' })
    expect(await valuesOf(harness)).to.deep.equal([{ n: 1 }, { n: 1 }])
  })
})

async function doNothing(): Promise<void> {}

describe('a write whose key is held by one decided transaction after the other', () => {
  it('is refused with CONFLICT at its deadline, and is not tried again after that (W3, p19)', async () => {
    const clock = new ManualClock()
    const key = Buffer.from('k')
    let attempts = 0
    const push: Shard['push'] = async () => {
      return { state: 'committed', commitTs: timestampAtMs(clock.nowMs()) }
    }
    // Each attempt takes a second, and by then the next transaction has taken the key, and committed.
    const write: Shard['write'] = async () => {
      attempts++
      if (attempts > 100) throw new RangeError('the write is tried again and again')
      clock.advance(1000)
      const transactionId = buildTransactionId(timestampAtMs(clock.nowMs()), '0'.repeat(16))
      return { kind: 'key-held', key, holder: { transactionId, anchor: { tableId: 't', key } } }
    }
    const contended = (shard: LocalShard): Shard =>
      withMethods(shard, { write, push, resolve: doNothing })
    await using world = await ShardWorld.open(['t'], { clock, wrap: contended })
    const collector = new PartCollector()
    collector.addOp(world.table('t'), putOp('k', 1))
    const options = { onContention: 'wait', awaitResolution: true } as const

    const refused = await errorOf(() => world.runner.run(collector.parts, options))

    expect(refused).to.include({ code: 'CONFLICT' })
    expect(attempts * 1000).to.be.within(CONTENTION_DEADLINE_MS, CONTENTION_DEADLINE_MS + 2000)
  })
})
