import { expect } from 'chai'
import { ServiceError } from '../../../../lib/errors.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import { HybridClock, TIMESTAMP_ZERO } from '../../../../node/clock/hybrid-clock.ts'
import { LocalShard } from '../../../../node/shard/local-shard.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { buildTransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'
import { memoryBound, putOp } from '../../../support/worlds/shard-world.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'
import { intervalOfKey, routesTo } from '../../../support/worlds/routes.ts'

const key = Buffer.from('k')
const anchor = { tableId: 't', key }

describe('a resolution that is refused for lack of a timestamp', () => {
  it('keeps the keys held, as the disk does', async () => {
    const hybridClock = await HybridClock.open(new ManualClock(), memoryBound)
    await using shard = await LocalShard.open({
      id: parseShardId('0000000000000001'),
      range: { start: Buffer.alloc(0), end: undefined },
      store: new MemoryKvStore(),
      journal: await openTestJournal(),
      hybridClock,
      clock: new ManualClock(),
      router: routesTo(() => shard),
      settings: NO_SETTINGS,
    })
    const transactionId = buildTransactionId(hybridClock.now(), '0123456789abcdef')
    const begin = { participants: [intervalOfKey(anchor)] }
    const ops = [putOp('k', 1)]
    await shard.prepare({ transactionId, anchor, begin, checks: [], ops, ttl: undefined })
    const commit = { transactionId, anchor: key, decision: 'commit' } as const
    const decision = await shard.decide({ ...commit, commitAtLeast: TIMESTAMP_ZERO })
    await hybridClock.close() // from here on it gives out no stamp

    const refused = await errorOf(() => shard.resolve({ transactionId, decision }))

    expect(refused).to.be.instanceOf(ServiceError)
    expect(shard.led.heldKeys).to.equal(1)
  })
})

describe('a write that fails halfway, at a damaged block', () => {
  it('leaves no effects in its group', async () => {
    const clock = new ManualClock()
    const hybridClock = await HybridClock.open(clock, memoryBound)
    await using shard = await LocalShard.open({
      id: parseShardId('0000000000000001'),
      range: { start: Buffer.alloc(0), end: undefined },
      store: new DamagedStore(),
      journal: await openTestJournal(),
      hybridClock,
      clock,
      router: routesTo(() => shard),
      settings: NO_SETTINGS,
    })
    const damaged = [putOp('whole', 1), putOp(DAMAGED, 1)]

    const [refused, other] = await Promise.all([
      errorOf(() => shard.write({ checks: [], ops: damaged, ttl: undefined })),
      shard.write({ checks: [], ops: [putOp('other', 1)], ttl: undefined }),
    ])

    expect(refused).to.include({ code: 'CORRUPTION' })
    expect(other.kind).to.equal('written')
    expect(await shard.read(Buffer.from('whole'))).to.equal(undefined)
    expect(await shard.read(Buffer.from('other'))).to.not.equal(undefined)
  })
})

const DAMAGED = 'damaged'

/** One block of it cannot be read. */
class DamagedStore extends MemoryKvStore {
  override get(stored: Uint8Array): Buffer | undefined {
    if (Buffer.from(stored).includes(DAMAGED)) throw new ServiceError('CORRUPTION', 'a bad block')
    return super.get(stored)
  }
}
