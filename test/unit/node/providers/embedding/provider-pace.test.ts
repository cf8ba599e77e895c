import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { ProviderPace } from '../../../../../node/providers/embedding/provider-pace.ts'
import { LateClock } from '../../../../support/late-clock.ts'
import type { PacedCall } from '../../../../../node/providers/embedding/provider-pace.ts'
import {
  ProviderError,
  isProviderError,
} from '../../../../../node/providers/contract/provider-error.ts'

const never = new AbortController().signal

describe('the pace of a provider', () => {
  let clock: ManualClock
  let pace: ProviderPace
  let running: { readonly name: string; readonly end: (error?: Error) => void }[]
  let ended: string[]

  beforeEach(() => {
    clock = new ManualClock()
    pace = new ProviderPace({ inFlightMax: 3, bytesMax: 100 }, clock)
    running = []
    ended = []
  })

  /** Asks for a turn. The work runs until the test ends it. */
  function ask(name: string, more: Partial<PacedCall> = {}): Promise<void> {
    const call = { name, bytes: 1, isUrgent: false, signal: never, ...more }
    const work = (): Promise<void> =>
      new Promise((resolve, reject) => {
        running.push({ name, end: (error) => (error === undefined ? resolve() : reject(error)) })
      })
    const asked = pace.run(call, work)
    asked.then(
      () => ended.push(name),
      () => ended.push(`${name} failed`),
    )
    return asked.catch(() => undefined)
  }

  const names = (): string[] => running.map(({ name }) => name)

  async function limited(index: number, retryAfterMs?: number): Promise<void> {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
    running[index]?.end(new ProviderError({ kind: 'rate_limited', ...wait }, 'slow down'))
    await settle()
  }

  it('runs so many calls at once, and the next in order when one ends (PP1, PP4)', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) void ask(name)
    await settle()
    expect(names()).to.deep.equal(['a', 'b', 'c'])
    expect(pace.waiting).to.equal(2)

    running[1]?.end()
    await settle()
    running[0]?.end(new Error('of its own'))
    await settle()

    expect(names()).to.deep.equal(['a', 'b', 'c', 'd', 'e'])
    expect([pace.running, pace.waiting]).to.deep.equal([3, 0])
  })

  it('runs calls of so many bytes at once, and a larger one alone (PP1)', async () => {
    void ask('small', { bytes: 60 })
    void ask('large', { bytes: 500 })
    void ask('tiny', { bytes: 10 })
    await settle()
    expect(names()).to.deep.equal(['small'])

    running[0]?.end()
    await settle()
    expect(names()).to.deep.equal(['small', 'large'])

    running[1]?.end()
    await settle()
    expect(names()).to.deep.equal(['small', 'large', 'tiny'])
  })

  it('lets calls of queries pass those of documents (PP4)', async () => {
    for (const name of ['a', 'b', 'c', 'd']) void ask(name)
    void ask('query', { isUrgent: true })
    await settle()

    running[0]?.end()
    await settle()

    expect(names().at(-1)).to.equal('query')
  })

  it('halves its rate once for all calls that were under way at a 429 (PP2)', async () => {
    const fast = new ProviderPace({ inFlightMax: 50, bytesMax: 1e6 }, clock)
    pace = fast
    for (let each = 0; each < 20; each += 1) void ask(`call ${each}`)
    await settle()
    expect(fast.ratePerS).to.equal(undefined)

    clock.advance(10)
    await limited(0)
    await limited(1)
    await limited(2)

    expect(fast.ratePerS).to.be.closeTo(10, 0.01)
  })

  it('starts calls at its rate after a 429, and halves it again at the next', async () => {
    for (const name of ['a', 'b']) void ask(name)
    await settle()
    clock.advance(1)
    await limited(0) // two starts in this second: one in a second from now on
    running[1]?.end()
    for (const name of ['c', 'd']) void ask(name)
    await settle()
    expect(names()).to.deep.equal(['a', 'b'])

    clock.advance(1_000)
    await settle()
    expect(names()).to.deep.equal(['a', 'b', 'c'])
    clock.advance(1)
    await limited(2)

    expect(pace.ratePerS).to.be.closeTo(0.5, 0.03)
    clock.advance(1_900)
    await settle()
    expect(names()).to.deep.equal(['a', 'b', 'c'])
    clock.advance(200)
    await settle()
    expect(names()).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('recovers by a twentieth in a second, until it limits nothing (PP3)', async () => {
    void ask('a')
    await settle()
    await limited(0)
    expect(pace.ratePerS).to.equal(0.5)

    clock.advance(14_207) // 1.05 ** 14.207 is 2
    expect(pace.ratePerS).to.be.closeTo(1, 0.001)

    clock.advance(150_000)
    expect(pace.ratePerS).to.equal(undefined)
  })

  it('starts nothing before the time that Retry-After asks for (PP2)', async () => {
    void ask('a')
    await settle()
    await limited(0, 30_000)
    void ask('b')

    clock.advance(29_999)
    await settle()
    expect(names()).to.deep.equal(['a'])

    clock.advance(1)
    await settle()
    expect(names()).to.deep.equal(['a', 'b'])
  })

  it('refuses a query rather than keep it for more than a second', async () => {
    void ask('a')
    await settle()
    await limited(0, 5_000)

    let refusal: unknown
    const call = { name: 'openai m', bytes: 1, isUrgent: true, signal: never }
    await pace.run(call, async () => undefined).catch((error: unknown) => (refusal = error))

    expect(isProviderError(refusal) && refusal.failure).to.deep.equal({
      kind: 'rate_limited',
      retryAfterMs: 5_000,
    })
    expect(refusal).to.have.property('message').that.includes('openai m')
  })

  it('counts the queries that wait before it to what a query would wait', async () => {
    void ask('a')
    await settle()
    await limited(0, 0) // one call in two seconds, and one query in half a second
    for (const name of ['first', 'second', 'third']) {
      void ask(name, { isUrgent: true })
      await settle()
    }

    expect(pace.waiting).to.equal(2)
    expect(ended).to.deep.equal(['a failed', 'third failed'])
  })

  it('asks for a query twice in a second, however slow documents are (PP4)', async () => {
    for (let each = 0; each < 8; each += 1) {
      void ask(`storm ${each}`)
      await settle()
      await limited(each)
      clock.advance(10_000)
    }
    expect(pace.ratePerS).to.be.below(1)
    void ask('document')
    await settle()
    await limited(8)
    const before = ended.length

    void ask('query', { isUrgent: true })
    void ask('next document')
    clock.advance(500)
    await settle()

    expect(names().slice(9)).to.deep.equal(['query'])
    expect(ended).to.have.length(before)
  })

  it('is fast again soon after a storm: each success doubles the rate (PP3)', async () => {
    pace = new ProviderPace({ inFlightMax: 50, bytesMax: 1e6 }, clock)
    for (let each = 0; each < 40; each += 1) void ask(`call ${each}`)
    await settle()
    clock.advance(1)
    await limited(0)
    for (let at = 40; at < 52; at += 1) {
      void ask('again', { isUrgent: true })
      clock.advance(1_000)
      await settle()
      await limited(at)
    }
    const low = pace.ratePerS ?? Infinity

    for (let each = 0; each < 6; each += 1) {
      const from = running.length
      void ask(`query ${each}`, { isUrgent: true })
      clock.advance(1_000)
      await settle()
      for (const { end } of running.slice(from)) end()
      await settle()
    }

    expect(low).to.be.below(0.5)
    expect(pace.ratePerS ?? Infinity).to.be.above(16)
    expect(ended.filter((name) => name.startsWith('query'))).to.have.length(6)
  })

  it('wakes those who wait although a call comes after their moment and before the timer', async () => {
    const late = new LateClock()
    pace = new ProviderPace({ inFlightMax: 3, bytesMax: 100 }, late)
    void ask('a')
    await settle()
    await limited(0, 100)
    void ask('b')
    await settle()

    late.pass(3_000)
    void ask('c')
    await settle()
    running[1]?.end()
    late.pass(5_000)
    late.deliver()
    await settle()

    expect(names()).to.deep.equal(['a', 'b', 'c'])
    expect(pace.waiting).to.equal(0)
  })

  it('forgets a waiting call whose signal aborts, and the others have their turns', async () => {
    const stop = new AbortController()
    for (const name of ['a', 'b', 'c']) void ask(name)
    const left = ask('left', { signal: stop.signal })
    void ask('d')
    await settle()

    stop.abort(new Error('gone'))
    await left
    running[0]?.end()
    await settle()

    expect(ended).to.include('left failed')
    expect(names()).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('lets the next call start when a larger one before it goes away', async () => {
    const stop = new AbortController()
    void ask('small', { bytes: 60 })
    void ask('large', { bytes: 500, signal: stop.signal })
    void ask('tiny', { bytes: 10 })
    await settle()
    expect(names()).to.deep.equal(['small'])

    stop.abort(new Error('gone'))
    await settle()

    expect(names()).to.deep.equal(['small', 'tiny'])
  })

  it('wakes for the next start although timers are early and time passes while it looks', async () => {
    const real = new RealisticClock()
    pace = new ProviderPace({ inFlightMax: 3, bytesMax: 100 }, real)
    void ask('a')
    await settle()
    await limited(0)
    void ask('b')
    await settle()

    // The timer rings at 1,999.7 ms. The next reading of the clock is after the start at 2,000 ms.
    real.driftMs = 0.5
    real.advance(2_000 - EARLY_MS)
    await settle()
    real.advance(1)
    await settle()

    expect(names()).to.deep.equal(['a', 'b'])
  })
})

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
}

const EARLY_MS = 0.3

/** Timers ring a little early, as those of Node do, and time passes between two readings. */
class RealisticClock extends ManualClock {
  driftMs = 0
  #drifted = 0

  override monotonicMs(): number {
    const now = super.monotonicMs() + this.#drifted
    this.#drifted += this.driftMs
    return now
  }

  override after(ms: number, act: () => void): () => void {
    return super.after(Math.max(0, ms - EARLY_MS), act)
  }
}
