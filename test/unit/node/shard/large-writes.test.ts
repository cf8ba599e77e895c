import { expect } from 'chai'
import { systemClock, type Clock } from '../../../../lib/clock.ts'
import { TIMESTAMP_ZERO } from '../../../../node/clock/hybrid-clock.ts'
import type { WriteOp } from '../../../../node/shard/command/command.ts'
import { keyspaceRange } from '../../../../node/shard/format/keyspace.ts'
import type { KvOp, KvStore } from '../../../../node/storage/kv-store.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { countTo } from '../../../support/loads/load.ts'
import { deleteOp, putOp, ShardWorld } from '../../../support/worlds/shard-world.ts'
import { intervalOfKey } from '../../../support/worlds/routes.ts'

const MIB = 1024 * 1024

/** Knows the largest write that reached a store. */
class BatchGauge extends FaultyDisk {
  bytes = 0

  override async open(name: string): Promise<KvStore> {
    const store = await super.open(name)
    const write = store.write.bind(store)
    store.write = (ops, options) => {
      this.bytes = Math.max(this.bytes, bytesOf(ops))
      return write(ops, options)
    }
    return store
  }
}

function bytesOf(ops: readonly KvOp[]): number {
  return ops.reduce((sum, op) => sum + (op.type === 'put' ? op.value.length : 0), 0)
}

function large(key: string): WriteOp {
  const json = Buffer.from(JSON.stringify({ text: 'x'.repeat(MIB) }))
  return { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } }
}

/** For work that is the same on any machine: between two looks at the clock a millisecond passes. */
function slowClock(): Clock {
  let ms = 0
  return { ...systemClock, monotonicMs: () => ms++ }
}

/** Turns of the event loop that others get while `work` is under way. */
async function turnsDuring(
  work: () => Promise<unknown>,
  inEach: () => void = () => undefined,
): Promise<number> {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    inEach()
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isDone = true
  return turns
}

describe('a small request over many large documents', () => {
  const keys = Array.from({ length: 40 }, (_, at) => `k${at}`)

  it('reaches the store in writes of bounded size, however many bytes move to history', async () => {
    const gauge = new BatchGauge()
    await using world = await ShardWorld.open(['s'], { stores: gauge })
    const shard = world.shard('s')
    for (const key of keys) await shard.write({ checks: [], ops: [large(key)], ttl: undefined })
    await shard.settled()
    gauge.bytes = 0

    await shard.write({ checks: [], ops: keys.map(deleteOp), ttl: undefined })
    await shard.settled()

    expect(gauge.bytes).to.be.within(MIB, 3 * MIB)
    const history = await Array.fromAsync(shard.store.pages(keyspaceRange('history')))
    expect(history.flat().length).to.equal(keys.length)
  })

  it('lets other work run while it is applied', async () => {
    await using world = await ShardWorld.open(['s'], { clock: slowClock() })
    const shard = world.shard('s')
    for (const key of keys) await shard.write({ checks: [], ops: [large(key)], ttl: undefined })
    await shard.settled()

    const turns = await turnsDuring(() =>
      shard.write({ checks: [], ops: keys.map(deleteOp), ttl: undefined }),
    )

    expect(turns).to.be.at.least(3)
  })

  it('is not visible before it is whole', async () => {
    await using world = await ShardWorld.open(['s'], { clock: systemClock })
    const shard = world.shard('s')
    for (const key of keys) await shard.write({ checks: [], ops: [large(key)], ttl: undefined })
    await shard.settled()
    const seen = new Set<number>()
    // Nobody holds the keys, so each is read without a wait: all at one moment.
    const look = (): void => {
      seen.add(keys.filter((key) => shard.read(Buffer.from(key)) !== undefined).length)
    }

    await turnsDuring(
      () => shard.write({ checks: [], ops: keys.map(deleteOp), ttl: undefined }),
      look,
    )
    look()

    expect([...seen].every((there) => there === keys.length || there === 0)).to.equal(true)
    expect(seen).to.include(0)
  })
})

describe('a resolution of many keys', () => {
  it('is visible as a whole while it is applied, once its transaction has committed', async () => {
    await using world = await ShardWorld.open(['s'], { clock: slowClock() })
    const shard = world.shard('s')
    const transactionId = world.newTransactionId()
    const anchor = { tableId: 's', key: Buffer.from('k0') }
    const ops = countTo(5000).map((n) => putOp(`k${n}`, { n }))
    const begin = { participants: [intervalOfKey(anchor)] }
    await shard.prepare({ transactionId, anchor, begin, checks: [], ops, ttl: undefined })
    const commit = { decision: 'commit', commitAtLeast: TIMESTAMP_ZERO } as const
    const decision = await shard.decide({ transactionId, anchor: anchor.key, ...commit })
    const reads: Promise<unknown>[] = []
    const look = (): void => {
      reads.push(Promise.resolve(shard.read(anchor.key)))
    }

    const turns = await turnsDuring(() => shard.resolve({ transactionId, decision }), look)

    const seen = await Promise.all(reads)
    expect(turns).to.be.at.least(3)
    expect(seen.includes(undefined)).to.equal(false)
  })
})
