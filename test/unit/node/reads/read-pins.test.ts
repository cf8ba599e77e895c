import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { timestampOf, type Timestamp } from '../../../../node/clock/hybrid-clock.ts'
import {
  PIN_AFTER_MS,
  PIN_MAX_MS,
  PIN_RENEW_MS,
  ReadPins,
} from '../../../../node/reads/read-pins.ts'
import { HISTORY_RETENTION_MS } from '../../../../node/shard/housekeeping/history-collection.ts'
import { PIN_LEASE_MS } from '../../../../node/shard/history-pins.ts'
import type { HistoryPin } from '../../../../node/shard/shard.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import { errorOf } from '../../../support/error-of.ts'
import { insert, SwarmHarness, WRITE, writesOf } from '../../../support/servers/swarm-harness.ts'

const { signal } = new AbortController()
const at = (n: bigint): Timestamp => timestampOf(n)

/** The part of a shard that scans pin. */
class PinnedShard {
  readonly id = parseShardId('0000000000000001')
  readonly pins: HistoryPin[] = []
  refusal: ServiceError | undefined

  async pinHistory(pin: HistoryPin): Promise<void> {
    this.pins.push(pin)
    if (this.refusal !== undefined) throw this.refusal
  }
}

describe('ReadPins', () => {
  it('pins nothing for a scan that is shorter than PIN_AFTER_MS', async () => {
    const clock = new ManualClock()
    const pins = new ReadPins(clock, 'n1')
    const shard = new PinnedShard()
    using _ = pins.pin({ shards: [shard], at: at(1n) })
    clock.advance(PIN_AFTER_MS - 1)

    await pins.renew(signal)

    expect(shard.pins).to.deep.equal([])
  })

  it('pins at each shard the oldest time that its scans read, in the name of the node', async () => {
    const clock = new ManualClock()
    const pins = new ReadPins(clock, 'n1')
    const [one, two] = [new PinnedShard(), new PinnedShard()]
    const newer = pins.pin({ shards: [one, two], at: at(2n) })
    const older = pins.pin({ shards: [one], at: at(1n) })
    clock.advance(PIN_AFTER_MS)

    await pins.renew(signal)
    older[Symbol.dispose]()
    await pins.renew(signal)
    newer[Symbol.dispose]()
    await pins.renew(signal)

    const told = (times: readonly bigint[]) => times.map((n) => ({ reader: 'n1', at: at(n) }))
    expect(one.pins).to.deep.equal(told([1n, 2n]))
    expect(two.pins).to.deep.equal(told([2n, 2n]))
  })

  it('pins the time that the first shard told', async () => {
    const clock = new ManualClock()
    const pins = new ReadPins(clock, 'n1')
    const shard = new PinnedShard()
    const past = { shards: [shard], at: undefined as Timestamp | undefined }
    using _ = pins.pin(past)
    past.at = at(7n)
    clock.advance(PIN_AFTER_MS)

    await pins.renew(signal)

    expect(shard.pins).to.deep.equal([{ reader: 'n1', at: at(7n) }])
  })

  it('asks the other shards, and again, if one refuses', async () => {
    const clock = new ManualClock()
    const pins = new ReadPins(clock, 'n1')
    const shards = Array.from({ length: 40 }, () => new PinnedShard())
    for (const shard of shards) shard.refusal = new ServiceError('NOT_LEADER', 'moved')
    using _ = pins.pin({ shards, at: at(1n) })
    clock.advance(PIN_AFTER_MS)

    await pins.renew(signal)
    await pins.renew(signal)

    expect(shards.map((shard) => shard.pins.length)).to.deep.equal(shards.map(() => 2))
  })

  it('lets a reader hold history only for a limited time', async () => {
    const clock = new ManualClock()
    const pins = new ReadPins(clock, 'n1')
    const shard = new PinnedShard()
    using pin = pins.pin({ shards: [shard], at: at(1n) })
    const before = pin.isHeld()
    clock.advance(PIN_MAX_MS + 1)

    await pins.renew(signal)

    expect([before, pin.isHeld()]).to.deep.equal([true, false])
    expect(shard.pins).to.deep.equal([])
  })

  it('has time for several renewals before a pin or the age of history ends', () => {
    expect(PIN_LEASE_MS).to.be.at.least(3 * PIN_RENEW_MS)
    expect(HISTORY_RETENTION_MS - PIN_AFTER_MS).to.be.at.least(PIN_LEASE_MS)
  })
})

describe('a scan whose reader is slower than history is kept for it', () => {
  it('ends with HISTORY_GONE, and history is collected meanwhile', async () => {
    await using harness = await SwarmHarness.open({ clock: new ManualClock() })
    const { store } = harness
    await store.createTable('t', { split_keys: ['m'] })
    for (const n of [1, 2, 3]) {
      await store.batch(writesOf('t', { inserts: [insert('a', { n }), insert('z', { n })] }), WRITE)
    }
    const request = {
      from: undefined,
      to: undefined,
      inclusiveFrom: true,
      exclusiveTo: false,
      projection: undefined,
      inEnvelope: false,
      filter: undefined,
      limit: undefined,
    }
    const pages = await store.scan('t', request, { signal: new AbortController().signal })
    const reading = pages[Symbol.asyncIterator]()
    const first = await reading.next()
    await store.batch(
      writesOf('t', { inserts: [insert('a', { n: 4 }), insert('z', { n: 4 })] }),
      WRITE,
    )
    await harness.advance(PIN_MAX_MS, 60_000)
    const held = (await harness.entries('history')).length
    await harness.advance(900_000, 60_000)

    expect(String(first.value)).to.equal('{"key":"a"}\n')
    expect(held).to.be.greaterThan(0)
    expect(await errorOf(() => reading.next())).to.include({ code: 'HISTORY_GONE' })
    expect(await harness.entries('history')).to.deep.equal([])
  })
})
