import { expect } from 'chai'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { hasBit } from '../../../../../../node/index/encoding/bitset.ts'
import { ExpiredDocuments } from '../../../../../../node/index/text/live/expired-documents.ts'
import { MemorySegment } from '../../../../../../node/index/text/segment/memory-segment.ts'
import type { Segment } from '../../../../../../node/index/text/segment/segment.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const random = seededRandom(seed)
const below = (bound: number): number => Math.floor(random() * bound)

/** A segment that grows, and how many expiries were read of it. */
class Expiring {
  readonly times: number[] = []
  reads = 0
  readonly #segment = new MemorySegment()

  add(expiresAtMs: number): void {
    const key = `k${this.times.length}`
    runAtOnce(this.#segment.add(key, { key: Buffer.from(key), expiresAtMs, fields: [] }))
    this.times.push(expiresAtMs)
  }

  view(): Segment {
    const view = this.#segment.view()
    const expiriesOf = (from: number, to: number): Float64Array => {
      this.reads += to - from
      return view.expiriesOf(from, to)
    }
    return new Proxy(view, {
      get: (target, name) =>
        name === 'expiriesOf' ? expiriesOf : Reflect.get(target, name, target),
    })
  }

  expired(nowMs: number): readonly number[] {
    return [...this.times.keys()].filter((doc) => {
      const time = this.times[doc] ?? 0
      return time > 0 && time <= nowMs
    })
  }
}

function found(expired: ExpiredDocuments, segment: Segment, nowMs: number): readonly number[] {
  const bits = expired.at(segment, nowMs)
  const docs = Array.from({ length: segment.docCount }, (_, doc) => doc)
  return bits === undefined ? [] : docs.filter((doc) => hasBit(bits, doc))
}

describe(`the expired documents of a segment (QUARRY_TEST_SEED=${seed})`, () => {
  it('are the documents past their expiry, however the clock moves and the segment grows', () => {
    const segment = new Expiring()
    const expired = new ExpiredDocuments()
    let nowMs = 0

    for (let round = 0; round < 60; round += 1) {
      for (let adds = below(400); adds > 0; adds -= 1) {
        // Some never expire, a third share one time, the others are spread.
        segment.add([0, 5000, 1 + below(10_000)][below(3)] ?? 0)
      }
      nowMs = below(8) === 0 ? below(10_000) : nowMs + below(300)
      const view = segment.view()
      expect(found(expired, view, nowMs), `at ${nowMs}`).to.deep.equal(segment.expired(nowMs))
    }
  })

  it('do not change during a search', () => {
    const segment = new Expiring()
    const expired = new ExpiredDocuments()
    for (let doc = 1; doc <= 2000; doc += 1) segment.add(doc)
    const view = segment.view()

    const before = expired.at(view, 1000)
    const copy = before?.slice()
    expired.at(view, 1500)
    expired.at(view, 10)

    expect(before).to.deep.equal(copy)
  })

  it('cost time for the documents expired since the last question, not for the whole segment', () => {
    const segment = new Expiring()
    const expired = new ExpiredDocuments()
    for (let doc = 1; doc <= 20_000; doc += 1) segment.add(1 + below(1_000_000))
    const view = segment.view()
    runAtOnce(expired.prepare(view))

    segment.reads = 0
    for (let nowMs = 0; nowMs < 1_000_000; nowMs += 100) expired.at(view, nowMs)

    expect(segment.reads).to.equal(0)
    expect(found(expired, view, 1_000_000)).to.have.length(20_000)
  })

  it('are prepared in steps', () => {
    const segment = new Expiring()
    for (let doc = 1; doc <= 20_000; doc += 1) segment.add(doc)

    const steps = [...new ExpiredDocuments().prepare(segment.view())].length

    expect(steps).to.be.greaterThan(15)
  })
})
