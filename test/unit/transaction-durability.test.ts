import { expect } from 'chai'
import { TIMESTAMP_ZERO } from '../../node/clock/hybrid-clock.ts'
import { jsonOf } from '../../node/shard/format/document-record.ts'
import type { TransactionId } from '../../node/shard/transaction-id.ts'
import { errorOf } from '../harness/error-of.ts'
import { putOp, ShardWorld } from '../harness/shard-world.ts'
import { settle } from '../harness/swarm-harness.ts'

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
