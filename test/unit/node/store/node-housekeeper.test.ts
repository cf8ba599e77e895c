import { ManualClock } from '../../../../lib/clock.ts'
import { expect } from 'chai'
import { silentLog } from '../../../../lib/log.ts'
import { COLLECTION_PERIOD_MS, NodeHousekeeper } from '../../../../node/store/node-housekeeper.ts'
import { ReadPins } from '../../../../node/reads/read-pins.ts'
import { LedShards } from '../../../../node/catalog/tables/led-shards.ts'
import { FORGET_PERIOD_MS } from '../../../../node/transactions/transaction-finisher.ts'
import type { OnCompacted } from '../../../../node/storage/kv-store.ts'
import { until } from '../../../support/until.ts'
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
    const sealedKeys = { sealAnew: async () => undefined }
    const repairs = { admin: swarm.tableAdmin, sealedKeys, mayRepair: () => false }
    const housekeeper = new NodeHousekeeper({ ...kept, ...repairs, recovery, finisher })
    housekeeper.start()
    clock.advance(FORGET_PERIOD_MS)
    await settle()

    await expectEndAfter(clock, 2000, housekeeper.stop())

    answer.resolve()
  })
})

describe('housekeeping of disks', () => {
  it('compacts the stores after each collection, and tells of those that were', async () => {
    const clock = new ManualClock()
    await using swarm = await SwarmHarness.open()
    await using world = await ShardWorld.open(['a'], { clock })
    const { hybridClock, recovery, finisher } = world
    const lines: unknown[] = []
    const log = { ...silentLog, info: (...line: unknown[]) => lines.push(line) }
    const bytes = { bytesBefore: 9, bytesAfter: 1 }
    const stores = {
      compact: async (_: AbortSignal, onCompacted: OnCompacted) => onCompacted('a', bytes),
    }
    const kept = { clock, hybridClock, led: new LedShards(), pins: new ReadPins(clock, 'n1'), log }
    const sealedKeys = { sealAnew: async () => undefined }
    const repairs = { admin: swarm.tableAdmin, sealedKeys, mayRepair: () => false }
    const housekeeper = new NodeHousekeeper({ ...kept, ...repairs, recovery, finisher, stores })
    housekeeper.start()

    clock.advance(COLLECTION_PERIOD_MS)
    await until(async () => lines.length > 0)

    expect(lines).to.deep.equal([['store compacted', { shardId: 'a', ...bytes }]])
    await housekeeper.stop()
  })
})
