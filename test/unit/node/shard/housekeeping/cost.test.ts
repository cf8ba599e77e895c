import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { timestampAtMs } from '../../../../../node/clock/hybrid-clock.ts'
import { parseFieldPath } from '../../../../../node/document/field-path.ts'
import type { TtlPolicy } from '../../../../../node/schema/document-rules.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import { keyspaceRange, type Keyspace } from '../../../../../node/shard/format/keyspace.ts'
import { expireDue, retimeDocuments } from '../../../../../node/shard/housekeeping/expiry.ts'
import { collectHistory } from '../../../../../node/shard/housekeeping/history-collection.ts'
import { PIECE_BYTES_MAX, PIECE_KEYS_MAX } from '../../../../../node/shard/housekeeping/pieces.ts'
import { NO_SETTINGS } from '../../../../../node/shard/command/table-settings.ts'
import { FaultyDisk } from '../../../../support/fakes/faulty-disk.ts'
import type { KvOp, KvStore } from '../../../../../node/storage/kv-store.ts'
import { deleteOp, ShardWorld } from '../../../../support/worlds/shard-world.ts'
import { errorOf } from '../../../../support/error-of.ts'

const HOUR_MS = 3_600_000
const TTL: TtlPolicy = {
  generation: 1,
  field: parseFieldPath('_timestamp', 'ttl_field'),
  durationMs: 60_000,
}
const LONGER: TtlPolicy = { ...TTL, generation: 2, durationMs: 120_000 }

/** The largest batch that reached a store since the last `reset`. */
class BatchGauge extends FaultyDisk {
  bytes = 0
  ops = 0

  reset(): void {
    this.bytes = 0
    this.ops = 0
  }

  override async open(name: string): Promise<KvStore> {
    const store = await super.open(name)
    const write = store.write.bind(store)
    store.write = (ops, options) => {
      this.bytes = Math.max(
        this.bytes,
        ops.reduce((sum, op) => sum + bytesOf(op), 0),
      )
      this.ops = Math.max(this.ops, ops.length)
      return write(ops, options)
    }
    return store
  }
}

function bytesOf(op: KvOp): number {
  return op.key.length + (op.type === 'put' ? op.value.length : 0)
}

interface Gauged {
  readonly world: ShardWorld
  readonly gauge: BatchGauge
  readonly clock: ManualClock
}

async function openGauged(ttl: TtlPolicy | undefined): Promise<Gauged> {
  const gauge = new BatchGauge()
  const clock = new ManualClock()
  const stores = gauge
  const world = await ShardWorld.open(['s'], { stores, clock, ...(ttl && { ttl }) })
  return { world, gauge, clock }
}

function put(key: string, json: Buffer): WriteOp {
  const expiry = { kind: 'after-write', durationMs: TTL.durationMs } as const
  return { kind: 'put', key: Buffer.from(key), json, expiry }
}

async function pass({ world, clock }: Gauged, ms: number): Promise<void> {
  clock.advance(ms)
  await world.hybridClock.keepAhead()
}

async function countOf(world: ShardWorld, keyspace: Keyspace): Promise<number> {
  const pages = await Array.fromAsync(world.shard('s').store.pages(keyspaceRange(keyspace)))
  return pages.flat().length
}

describe('housekeeping', () => {
  it('expires and retimes large documents in pieces of about a mebibyte', async () => {
    const gauged = await openGauged(TTL)
    const { world, gauge, clock } = gauged
    const shard = world.shard('s')
    const large = Buffer.from(JSON.stringify({ text: 'x'.repeat(PIECE_BYTES_MAX / 4) }))
    for (let i = 0; i < 40; i++) {
      await shard.write({ checks: [], ops: [put(`k${i}`, large)], ttl: TTL })
    }
    gauge.reset()
    await shard.led.setSettings({ ...NO_SETTINGS, ttl: LONGER })
    const retimed = await retimeDocuments(shard.led, new AbortController().signal)
    await pass(gauged, HOUR_MS)
    const deleted = await expireDue(shard.led, clock.nowMs())

    expect([retimed, deleted]).to.deep.equal([40, 40])
    expect(gauge.bytes).to.be.below(2 * PIECE_BYTES_MAX)
  })

  it('collects an entry of very many touches in pieces, and completely', async () => {
    const gauged = await openGauged(undefined)
    const { world, gauge, clock } = gauged
    const shard = world.shard('s')
    const keys = Array.from({ length: 20_500 }, (_, i) => `k${i}`)
    const json = Buffer.from('{}')
    await shard.write({ checks: [], ops: keys.map((key) => put(key, json)), ttl: undefined })
    await shard.write({ checks: [], ops: keys.map(deleteOp), ttl: undefined })
    await shard.write({ checks: [], ops: [put('last', json)], ttl: undefined })
    await pass(gauged, HOUR_MS)
    gauge.reset()

    await collectHistory(shard.led, timestampAtMs(clock.nowMs()))

    // A drop removes a version and a tombstone; the entry itself and the mark come on top.
    expect(gauge.ops).to.be.at.most(2 * PIECE_KEYS_MAX + 2)
    expect(await countOf(world, 'history')).to.equal(0)
    expect(await countOf(world, 'documents')).to.equal(1)
  })

  it('stops between two pieces on request, and continues the next time', async () => {
    const gauged = await openGauged(TTL)
    const { world, clock } = gauged
    const shard = world.shard('s')
    const large = Buffer.from(JSON.stringify({ text: 'x'.repeat(PIECE_BYTES_MAX / 4) }))
    for (let i = 0; i < 20; i++) {
      await shard.write({ checks: [], ops: [put(`k${i}`, large)], ttl: TTL })
    }
    await pass(gauged, HOUR_MS)
    await shard.settled()
    const stop = new AbortController()
    const stopListening = shard.onApplied(() => stop.abort())

    const first = await expireDue(shard.led, clock.nowMs(), stop.signal)
    stopListening()
    const rest = await expireDue(shard.led, clock.nowMs())

    expect(first).to.be.within(1, 5)
    expect(first + rest).to.equal(20)
  })

  it('writes nothing once there are no changes', async () => {
    const gauged = await openGauged(undefined)
    const { world, gauge, clock } = gauged
    const shard = world.shard('s')
    for (const value of ['{"n":1}', '{"n":2}', '{"n":3}']) {
      await shard.write({ checks: [], ops: [put('k', Buffer.from(value))], ttl: undefined })
    }
    for (let round = 0; round < 3; round++) {
      await pass(gauged, HOUR_MS)
      await collectHistory(shard.led, timestampAtMs(clock.nowMs()))
    }
    gauge.reset()
    await pass(gauged, HOUR_MS)
    await collectHistory(shard.led, timestampAtMs(clock.nowMs()))

    expect(gauge.ops).to.equal(0)
    expect(await countOf(world, 'history')).to.equal(0)
  })
})

describe('a write that was checked under the previous TTL and applied after the retiming pass', () => {
  it('expires under the present one, and is deleted', async () => {
    const gauged = await openGauged(TTL)
    const { world, clock } = gauged
    const shard = world.shard('s')
    await shard.led.setSettings({ ...NO_SETTINGS, ttl: LONGER })
    await retimeDocuments(shard.led, new AbortController().signal)
    await shard.write({ checks: [], ops: [put('k', Buffer.from('{}'))], ttl: TTL })

    await pass(gauged, TTL.durationMs + 1000)
    const visible = await shard.read(Buffer.from('k'))
    await pass(gauged, HOUR_MS)
    const deleted = await expireDue(shard.led, clock.nowMs())

    expect(visible).to.not.equal(undefined)
    expect(deleted).to.equal(1)
    expect(await countOf(world, 'expiry')).to.equal(0)
  })

  it('expires under a TTL that the table did not have', async () => {
    const gauged = await openGauged(undefined)
    const { world, clock } = gauged
    const shard = world.shard('s')
    await shard.led.setSettings({ ...NO_SETTINGS, ttl: LONGER })
    await retimeDocuments(shard.led, new AbortController().signal)
    const op = { ...put('k', Buffer.from('{}')), expiry: { kind: 'none' } } as const
    await shard.write({ checks: [], ops: [op], ttl: undefined })
    await pass(gauged, HOUR_MS)

    expect(await expireDue(shard.led, clock.nowMs())).to.equal(1)
  })
})

describe('a scan below what was collected (SC1)', () => {
  it('is refused instead of leaving rows out', async () => {
    const gauged = await openGauged(undefined)
    const { world, clock } = gauged
    const shard = world.shard('s')
    const ops = ['k', 'l'].map((key) => put(key, Buffer.from('{}')))
    await shard.write({ checks: [], ops, ttl: undefined })
    const at = world.hybridClock.readPoint()
    const { range } = shard
    const { signal } = new AbortController()
    const scan = async (): Promise<number> =>
      (await Array.fromAsync(await shard.scan({ range, at, signal }))).flat().length
    await shard.write({ checks: [], ops: [put('k', Buffer.from('{"n":1}'))], ttl: undefined })
    await shard.write({ checks: [], ops: [put('m', Buffer.from('{}'))], ttl: undefined })
    const before = await scan()
    await pass(gauged, HOUR_MS)
    await collectHistory(shard.led, timestampAtMs(clock.nowMs()))

    expect(before).to.equal(2)
    expect(await errorOf(scan)).to.include({ code: 'HISTORY_GONE' })
  })
})
