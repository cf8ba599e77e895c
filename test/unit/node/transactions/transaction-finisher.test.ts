import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import type { TransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { expectEndAfter } from '../../../support/ends-after.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'
import { ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'

const key = Buffer.from('k')

/** Resolved transactions whose records lie on these shards. */
async function resolvedOn(
  world: ShardWorld,
  ...names: readonly string[]
): Promise<TransactionId[]> {
  const ids = []
  for (const tableId of names) {
    const transactionId = world.newTransactionId()
    const ended = { transactionId, anchor: { tableId, key }, participants: [] }
    await world.finisher.finish(ended, { state: 'aborted' }, { isAwaited: true }).done
    ids.push(transactionId)
  }
  return ids
}

describe('a round of forgetting', () => {
  it('asks a shard that failed once, and all others', async () => {
    const asked: string[] = []
    const wrap = (shard: LocalShard, name: string): Shard =>
      withMethods(shard, {
        forget: async () => {
          asked.push(name)
          if (name === 'a') throw new ServiceError('UNAVAILABLE', 'no leader')
        },
      })
    await using world = await ShardWorld.open(['a', 'b'], { wrap })
    await resolvedOn(world, 'a', 'a', 'b', 'a', 'b')

    await world.finisher.forgetResolved()

    expect(asked).to.deep.equal(['a', 'b', 'b'])
  })
})

describe('the end of the finisher', () => {
  it('waits two seconds for a shard that does not answer, and leaves the other records to recovery', async () => {
    const clock = new ManualClock()
    const answer = Promise.withResolvers<void>()
    const asked: TransactionId[] = []
    const silent = (shard: LocalShard): Shard =>
      withMethods(shard, {
        forget: async (transactionId) => {
          asked.push(transactionId)
          await answer.promise
        },
      })
    await using world = await ShardWorld.open(['a', 'b'], { wrap: silent, clock })
    const ids = await resolvedOn(world, 'a', 'a')

    await expectEndAfter(clock, 2000, world.finisher.end())
    answer.resolve()
    await settle()

    expect(asked).to.deep.equal(ids.slice(0, 1))
  })
})
