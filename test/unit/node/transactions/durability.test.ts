import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { TIMESTAMP_ZERO } from '../../../../node/clock/hybrid-clock.ts'
import { FORGET_PERIOD_MS } from '../../../../node/transactions/transaction-finisher.ts'
import { keyspaceRange } from '../../../../node/shard/format/keyspace.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import type { TransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { errorOf } from '../../../support/error-of.ts'
import { putOp, ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'
import {
  documentOf,
  insert,
  PROPOSE,
  settle,
  SwarmHarness,
  writesOf,
} from '../../../support/servers/swarm-harness.ts'
import { TEST_SEGMENT_BYTES } from '../../../support/worlds/test-journal.ts'

const key = Buffer.from('k')

async function valueAt(world: ShardWorld, name: string): Promise<unknown> {
  const record = await world.shard(name).read(key)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

async function prepareBoth(world: ShardWorld): Promise<TransactionId> {
  const transactionId = world.newTransactionId()
  const anchor = { tableId: 'a', key }
  const participants = ['a', 'b'].map((tableId) => ({ tableId, first: key, last: key }))
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

/** How often the shard has read its holds from the store since the call. */
function countRebuilds({ store }: LocalShard): () => number {
  const intents = keyspaceRange('intents').gte
  const pages = store.pages.bind(store)
  let count = 0
  store.pages = (range) => {
    if (range.gte === undefined) return pages(range)
    if (Buffer.compare(range.gte, intents) === 0) count++
    return pages(range)
  }
  return () => count
}

describe('a decision whose write failed', () => {
  it('is not shown to readers of the key', async () => {
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
    await world.recovery.runAtStart()

    const values = [await valueAt(world, 'a'), await valueAt(world, 'b')]
    expect(values).to.deep.equal([undefined, undefined])
  })

  it('is not carried to the participants while its write is under way', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const transactionId = await prepareBoth(world)
    world.disk.hold('before')
    const deciding = world.shard('a').decide(commitOf(transactionId))
    await settle()

    const [unfinished] = world.shard('a').led.unfinishedTransactions()

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

describe('the record of a committed transaction', () => {
  it('stays until every participant has answered its resolution (INV-T6)', async () => {
    const answers = Promise.withResolvers<void>()
    const forgotten: TransactionId[] = []
    const watched = (shard: LocalShard): Shard =>
      withMethods(shard, {
        resolve: async (...args) => {
          await shard.resolve(...args)
          await answers.promise
        },
        forget: (transactionId, anchor) => {
          forgotten.push(transactionId)
          return shard.forget(transactionId, anchor)
        },
      })
    await using world = await ShardWorld.open(['a', 'b'], { wrap: watched })
    const transactionId = await prepareBoth(world)
    const decision = await world.shard('a').decide(commitOf(transactionId))
    const anchor = { tableId: 'a', key }
    const participants = ['a', 'b'].map((tableId) => ({ tableId, first: key, last: key }))
    const ended = { transactionId, anchor, participants }
    const { done } = world.finisher.finish(ended, decision, { isAwaited: true })
    await settle()
    await world.finisher.forgetResolved()
    const before = [...forgotten]

    answers.resolve()
    await done
    await world.finisher.forgetResolved()

    expect(before).to.deep.equal([])
    expect(forgotten).to.deep.equal([transactionId])
  })
})

describe('a reader that waits for the outcome of a transaction', () => {
  it('sees the commit even if a refused write makes the shard rebuild its memory meanwhile', async () => {
    const pushes = Promise.withResolvers<void>()
    let isSlow = false
    const slowPush = (shard: LocalShard): Shard =>
      withMethods(shard, {
        push: async (push) => {
          const status = await shard.push(push)
          if (isSlow) await pushes.promise
          return status
        },
      })
    const wrap = (shard: LocalShard, name: string): Shard =>
      name === 'a' ? slowPush(shard) : shard
    // A guard would refuse the write before anything is applied, and nothing would be rebuilt.
    await using world = await ShardWorld.open(['a', 'b'], { wrap, isGuarded: false })
    const b = world.shard('b')
    await b.write({ checks: [], ops: [putOp('k', 'old')], ttl: undefined })
    const transactionId = await prepareBoth(world)
    await world.shard('a').decide(commitOf(transactionId))
    await b.settled()
    isSlow = true
    const read = valueAt(world, 'b')
    await settle()
    const rebuilds = countRebuilds(b)
    world.disk.failWrites('DISK_FULL')
    const large = putOp('other', 'x'.repeat(5 * TEST_SEGMENT_BYTES)) // needs a segment of its own
    const refused = await errorOf(() => b.write({ checks: [], ops: [large], ttl: undefined }))
    world.disk.failWrites(undefined)
    await settle()
    pushes.resolve()

    expect(refused).to.include({ code: 'DISK_FULL' })
    expect(rebuilds()).to.equal(1)
    expect(await read).to.equal('new')
  })
})
