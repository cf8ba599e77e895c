import { expect } from 'chai'
import { ManualClock } from '../../lib/clock.ts'
import { TIMESTAMP_ZERO } from '../../node/clock/hybrid-clock.ts'
import { FORGET_PERIOD_MS } from '../../node/coordinator/transactions/transaction-finisher.ts'
import { jsonOf } from '../../node/shard/format/document-record.ts'
import type { LocalShard } from '../../node/shard/local-shard.ts'
import type { Push, Shard } from '../../node/shard/shard.ts'
import type { TransactionId } from '../../node/shard/transaction-id.ts'
import { errorOf } from '../harness/error-of.ts'
import { putOp, ShardWorld } from '../harness/shard-world.ts'
import {
  documentOf,
  insert,
  PROPOSE,
  settle,
  SwarmHarness,
  writesOf,
} from '../harness/swarm-harness.ts'

const key = Buffer.from('k')

async function valueAt(world: ShardWorld, name: string): Promise<unknown> {
  const record = await world.shard(name).read(key)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

async function prepareBoth(world: ShardWorld): Promise<TransactionId> {
  const transactionId = world.newTransactionId()
  const anchor = { tableId: 'a', key }
  const participants = ['a', 'b'].map((tableId) => ({ tableId, key }))
  for (const name of ['a', 'b']) {
    const begin = name === 'a' ? { participants } : undefined
    const ops = [putOp('k', 'new')]
    const outcome = await world
      .shard(name)
      .prepare({ transactionId, anchor, begin, checks: [], ops, ttl: undefined })
    expect(outcome.kind).to.equal('prepared')
  }
  return transactionId
}

const commitOf = (transactionId: TransactionId) =>
  ({ transactionId, anchor: key, decision: 'commit', commitAtLeast: TIMESTAMP_ZERO }) as const

describe('a decision whose write failed', () => {
  it('is told to nobody who reads the key', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const transactionId = await prepareBoth(world)
    world.disk.failWrites('DISK_FULL')
    await errorOf(() => world.shard('a').decide(commitOf(transactionId)))

    const seen = [await valueAt(world, 'a'), await valueAt(world, 'b')]

    expect(seen).to.deep.equal([undefined, undefined])
  })

  it('is not carried to the participants by recovery', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const transactionId = await prepareBoth(world)
    world.disk.failWrites('DISK_FULL')
    await errorOf(() => world.shard('a').decide(commitOf(transactionId)))
    world.disk.failWrites(undefined)

    await world.recovery.run()
    await world.recovery.recoverAll()

    const values = [await valueAt(world, 'a'), await valueAt(world, 'b')]
    expect(values).to.deep.equal([undefined, undefined])
  })

  it('is not carried to the participants while its write is under way', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const transactionId = await prepareBoth(world)
    world.disk.hold('before')
    const deciding = world.shard('a').decide(commitOf(transactionId))
    await settle()

    const [unfinished] = world.shard('a').unfinishedTransactions()

    world.disk.release()
    expect(unfinished?.status.state).to.equal('pending')
    expect(await deciding).to.include({ state: 'committed' })
  })
})

describe('a transaction that is resolved while the records before it are being forgotten', () => {
  it('outlives a power failure after the table of its record was dropped (INV-T6)', async () => {
    const clock = new ManualClock()
    await using harness = await SwarmHarness.open({ clock })
    const { store } = harness
    await store.createTable('a', {})
    await store.createTable('b', {})
    const writeBoth = (name: string): Promise<unknown> => {
      const inserts = [insert(name, { from: name })]
      return store.crossBatch([writesOf('a', { inserts }), writesOf('b', { inserts })], PROPOSE)
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => writeBoth(`t${i}`)))
    await settle()
    clock.advance(FORGET_PERIOD_MS)
    await writeBoth('late')
    await settle()

    await store.dropTable('a')
    await harness.restart()

    expect((await documentOf(harness.store, 'b', 'late'))?.value).to.deep.equal({ from: 'late' })
  })
})

describe('a reader that waits for the outcome of a transaction', () => {
  it('sees the commit although a refused write made the shard rebuild its memory meanwhile', async () => {
    const pushes = Promise.withResolvers<void>()
    let isSlow = false
    const slowPush = (shard: LocalShard): Shard =>
      new Proxy(shard, {
        get(target, name) {
          if (name === 'push') {
            return async (push: Push) => {
              const status = await target.push(push)
              if (isSlow) await pushes.promise
              return status
            }
          }
          const member: unknown = Reflect.get(target, name)
          return typeof member === 'function' ? member.bind(target) : member
        },
      })
    const wrap = (shard: LocalShard, name: string): Shard =>
      name === 'a' ? slowPush(shard) : shard
    await using world = await ShardWorld.open(['a', 'b'], { wrap })
    const b = world.shard('b')
    await b.write({ checks: [], ops: [putOp('k', 'old')], ttl: undefined })
    const transactionId = await prepareBoth(world)
    await world.shard('a').decide(commitOf(transactionId))
    isSlow = true
    const read = valueAt(world, 'b')
    await settle()
    world.disk.failWrites('DISK_FULL')
    await errorOf(() => b.write({ checks: [], ops: [putOp('other', 1)], ttl: undefined }))
    await settle()
    world.disk.failWrites(undefined)
    pushes.resolve()

    expect(await read).to.equal('new')
  })
})
