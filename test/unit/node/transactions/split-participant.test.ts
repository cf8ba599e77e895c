import { expect } from 'chai'
import { PartCollector } from '../../../../node/transactions/transaction-part.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import type { ShardRouter } from '../../../../node/shard/shard-router.ts'
import { putOp, ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'

const SPLIT_KEY = Buffer.from('m')
const LEFT = Buffer.from('d')
const RIGHT = Buffer.from('p')

/**
 * Tables `a` and `b`. As soon as `b` has prepared, it is split at SPLIT_KEY: what it had prepared at
 * and behind that key lies on the shard `child` from then on.
 */
async function openSplitting(): Promise<ShardWorld> {
  const children: Shard[] = []
  const wrap = (shard: LocalShard, tableId: string): Shard => {
    if (tableId !== 'b') return shard
    const prepare: Shard['prepareInOrder'] = async (command) => {
      const left = command.ops.filter(({ key }) => key.compare(SPLIT_KEY) < 0)
      const right = command.ops.filter(({ key }) => key.compare(SPLIT_KEY) >= 0)
      const prepared = await shard.prepareInOrder({ ...command, ops: left })
      const child = world.shard('child')
      await child.prepare({ ...command, ops: right })
      children.push(child)
      return prepared
    }
    return withMethods(shard, { prepareInOrder: prepare })
  }
  const route = (known: ShardRouter): ShardRouter => ({
    shardAt: (address) => known.shardAt(address),
    shardsMeeting: async (interval) => {
      const found = await known.shardsMeeting(interval)
      const reachesChild = interval.tableId === 'b' && interval.last.compare(SPLIT_KEY) >= 0
      if (found.kind !== 'shards' || !reachesChild) return found
      return { kind: 'shards', shards: [...found.shards, ...children] }
    },
  })
  const world = await ShardWorld.open(['a', 'b', 'child'], { wrap, route })
  return world
}

async function valueIn(shard: LocalShard, key: Buffer): Promise<unknown> {
  const record = await shard.read(key)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

describe('a participant that is split between prepare and resolve', () => {
  it('is resolved on both sides, and holds nothing afterwards', async () => {
    await using world = await openSplitting()
    const collector = new PartCollector()
    collector.addOp(world.table('a'), putOp('k', 1))
    collector.addOp(world.table('b'), putOp(RIGHT.toString(), 3))
    collector.addOp(world.table('b'), putOp(LEFT.toString(), 2))

    await world.runner.run(collector.parts, { onContention: 'wait', awaitResolution: true })

    const [left, right] = [world.shard('b'), world.shard('child')]
    expect([await valueIn(left, LEFT), await valueIn(right, RIGHT)]).to.deep.equal([2, 3])
    expect([left.led.holders(), right.led.holders()]).to.deep.equal([[], []])
  })

  it('is resolved on both sides by recovery too, from the record alone', async () => {
    await using world = await openSplitting()
    const id = world.newTransactionId()
    const anchor = { tableId: 'a', key: Buffer.from('k') }
    const participants = [
      { tableId: 'a', first: anchor.key, last: anchor.key },
      { tableId: 'b', first: LEFT, last: RIGHT },
    ]
    const rest = { transactionId: id, anchor, checks: [], ttl: undefined }
    const anchorShard = world.shard('a')
    await anchorShard.prepare({ ...rest, begin: { participants }, ops: [putOp('k', 1)] })
    const ops = [putOp(LEFT.toString(), 2), putOp(RIGHT.toString(), 3)]
    const { shards } = world.table('b')
    await shards[0]?.prepareInOrder({ ...rest, begin: undefined, ops })
    const commit = { transactionId: id, anchor: anchor.key, decision: 'commit' } as const
    await anchorShard.decide({ ...commit, commitAtLeast: world.hybridClock.now() })

    await world.recovery.runAtStart()

    const [left, right] = [world.shard('b'), world.shard('child')]
    expect([await valueIn(left, LEFT), await valueIn(right, RIGHT)]).to.deep.equal([2, 3])
    expect([left.led.holders(), right.led.holders()]).to.deep.equal([[], []])
  })
})
