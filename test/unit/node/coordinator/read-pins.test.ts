import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { timestampOf } from '../../../../node/clock/hybrid-clock.ts'
import { PIN_MAX_MS, ReadPins } from '../../../../node/coordinator/read-pins.ts'
import { errorOf } from '../../../support/error-of.ts'
import { insert, SwarmHarness, WRITE, writesOf } from '../../../support/servers/swarm-harness.ts'

describe('ReadPins', () => {
  it('reports the oldest held timestamp until its pin is disposed', () => {
    const pins = new ReadPins(new ManualClock())
    const older = pins.pin(timestampOf(1n))
    const same = pins.pin(timestampOf(1n))
    const newer = pins.pin(timestampOf(2n))
    const found = [pins.oldest()]
    for (const pin of [older, same, newer]) {
      pin[Symbol.dispose]()
      found.push(pins.oldest())
    }

    expect(found).to.deep.equal([1n, 1n, 2n, undefined])
    expect(older.isHeld()).to.equal(false)
  })

  it('lets a reader hold history only for a limited time', () => {
    const clock = new ManualClock()
    const pins = new ReadPins(clock)
    using pin = pins.pin(timestampOf(1n))
    const before = [pin.isHeld(), pins.oldest()]

    clock.advance(PIN_MAX_MS + 1)

    expect(before).to.deep.equal([true, 1n])
    expect([pin.isHeld(), pins.oldest()]).to.deep.equal([false, undefined])
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
