import { ManualClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'
import { NodeHousekeeper } from '../../../../node/coordinator/node-housekeeper.ts'
import { ReadPins } from '../../../../node/coordinator/read-pins.ts'
import { LedShards } from '../../../../node/coordinator/shards/led-shards.ts'
import { FORGET_PERIOD_MS } from '../../../../node/coordinator/transactions/transaction-finisher.ts'
import { expectEndAfter } from '../../../support/ends-after.ts'
import { settle, SwarmHarness } from '../../../support/servers/swarm-harness.ts'
import { ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'

describe('the end of housekeeping', () => {
  it('waits two seconds for a shard that does not answer', async () => {
    const clock = new ManualClock()
    const answer = Promise.withResolvers<void>()
    await using swarm = await SwarmHarness.open()
    await using world = await ShardWorld.open(['a'], {
      wrap: (shard) => withMethods(shard, { forget: () => answer.promise }),
      clock,
    })
    const { hybridClock, recovery, finisher } = world
    const led = new LedShards()
    const ended = { anchor: { tableId: 'a', key: Buffer.from('k') }, participants: [] }
    const transaction = { ...ended, transactionId: world.newTransactionId() }
    await finisher.finish(transaction, { state: 'aborted' }, { isAwaited: true }).done
    const kept = { clock, hybridClock, led, pins: new ReadPins(clock, 'n1'), log: silentLog }
    const repairs = { admin: swarm.tableAdmin, mayRepair: () => false }
    const housekeeper = new NodeHousekeeper({ ...kept, ...repairs, recovery, finisher })
    housekeeper.start()
    clock.advance(FORGET_PERIOD_MS)
    await settle()

    await expectEndAfter(clock, 2000, housekeeper.stop())

    answer.resolve()
  })
})
