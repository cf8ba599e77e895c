import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'
import {
  BOUND_AHEAD_MS,
  HybridClock,
  OFFSET_MAX_MS,
  TIMESTAMP_ZERO,
  isTimestamp,
  millisOf,
  timestampAtMs,
  timestampOf,
} from '../../../../node/clock/hybrid-clock.ts'
import type { Timestamp, TimestampBound } from '../../../../node/clock/hybrid-clock.ts'
import { errorOf } from '../../../support/error-of.ts'

const START_MS = 1_700_000_000_000

class MemoryBound implements TimestampBound {
  value: Timestamp = TIMESTAMP_ZERO
  saves = 0
  fails = false

  async load(): Promise<Timestamp> {
    return this.value
  }

  async save(bound: Timestamp): Promise<void> {
    if (this.fails) throw new Error('the disk is full')
    this.saves += 1
    this.value = bound
  }
}

/** Lets the saving of a bound, which `now` starts and does not await, come to its end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

/** `now`, as a caller would who tries again while the bound is being saved. */
async function stampOf(hybrid: HybridClock): Promise<Timestamp> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      return hybrid.now()
    } catch {
      await settle()
    }
  }
  return hybrid.now()
}

type Step =
  | { readonly kind: 'now' | 'read' | 'settle' | 'crash' | 'close' }
  | { readonly kind: 'wall' | 'sleep' | 'time' | 'observe'; readonly ms: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('now', 'read', 'settle', 'crash', 'close') }),
  fc.record({ kind: fc.constant('wall'), ms: fc.integer({ min: -20_000, max: 20_000 }) }),
  fc.record({ kind: fc.constant('sleep'), ms: fc.integer({ min: 0, max: 20_000 }) }),
  fc.record({ kind: fc.constant('time'), ms: fc.integer({ min: 0, max: 10_000 }) }),
  fc.record({ kind: fc.constant('observe'), ms: fc.integer({ min: -1000, max: OFFSET_MAX_MS }) }),
)

/** Takes the steps, and checks H1 and H2 after each. */
async function run(steps: readonly Step[]): Promise<void> {
  const clock = new ManualClock(START_MS)
  const bound = new MemoryBound()
  let hybrid = await HybridClock.open(clock, bound)
  let last = -1n
  let lastRead = -1n
  for (const made of steps) {
    if (made.kind === 'now') {
      const stamp = await stampOf(hybrid)
      expect(stamp > last, `${stamp} after ${last}`).to.equal(true)
      expect(stamp > lastRead, `${stamp} after a read at ${lastRead}`).to.equal(true)
      expect(stamp < bound.value, `${stamp} below the bound ${bound.value}`).to.equal(true)
      last = stamp
    } else if (made.kind === 'read') {
      lastRead = hybrid.readPoint()
      expect(lastRead >= last, `read at ${lastRead} after ${last}`).to.equal(true)
    } else if (made.kind === 'observe') {
      const seen = timestampAtMs(clock.nowMs() - hybrid.wallOffsetMs() + made.ms)
      hybrid.observe(seen)
      lastRead = seen > lastRead ? seen : lastRead
    } else if (made.kind === 'wall') {
      clock.stepWall(made.ms)
    } else if (made.kind === 'sleep') {
      clock.suspend(made.ms)
    } else if (made.kind === 'time') {
      clock.advance(made.ms)
    } else if (made.kind === 'settle') {
      await settle()
    } else {
      if (made.kind === 'close') await hybrid.close()
      await settle()
      hybrid = await HybridClock.open(clock, bound)
      lastRead = -1n
    }
  }
}

describe('HybridClock', () => {
  it('follows the wall clock, with a counter within a millisecond', async () => {
    const clock = new ManualClock(START_MS)
    const hybrid = await HybridClock.open(clock, new MemoryBound())

    const stamps = [hybrid.now(), hybrid.now()]
    clock.advance(5)
    stamps.push(hybrid.now())

    const base = BigInt(START_MS) << 16n
    expect(stamps).to.deep.equal([base, base + 1n, BigInt(START_MS + 5) << 16n])
  })

  it('H1 and H2: strictly increases over wall clock steps, crashes and restarts', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), run), { numRuns: 300 })
  })

  it('H2: refuses stamps beyond a bound that cannot be saved, until it can be', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    const hybrid = await HybridClock.open(clock, bound)
    bound.fails = true
    clock.advance(2 * BOUND_AHEAD_MS)
    const stamps = Array.from({ length: 65_536 }, () => hybrid.now())

    const error = await errorOf(() => hybrid.now())
    const readPoint = hybrid.readPoint()
    await settle()
    bound.fails = false
    await errorOf(() => hybrid.now())
    await settle()

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(stamps.at(-1)! < timestampAtMs(START_MS + BOUND_AHEAD_MS)).to.equal(true)
    expect(readPoint).to.equal(stamps.at(-1))
    expect(millisOf(hybrid.now())).to.equal(clock.nowMs())
  })

  it('saves the bound again when half of it is used, not on each stamp', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    const hybrid = await HybridClock.open(clock, bound)
    for (let ms = 0; ms < 10 * BOUND_AHEAD_MS; ms += 100) {
      hybrid.now()
      await settle()
      clock.advance(100)
    }

    expect(bound.saves).to.be.within(15, 25)
  })

  it('begins at the present after a clean close', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    const before = await HybridClock.open(clock, bound)
    before.now()
    await before.close()
    clock.advance(1)

    const hybrid = await HybridClock.open(clock, bound)

    expect(millisOf(hybrid.now())).to.equal(START_MS + 1)
    expect(await errorOf(() => before.now())).to.include({ code: 'UNAVAILABLE' })
  })

  it('begins at the bound after a crash', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    await HybridClock.open(clock, bound)

    const hybrid = await HybridClock.open(clock, bound)

    expect(hybrid.now()).to.equal(timestampAtMs(START_MS + BOUND_AHEAD_MS) + 1n)
  })

  it('among others: begins at the present after a crash, when the wall clock has come to the bound', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    const crashed = await HybridClock.open(clock, bound)
    crashed.now()
    const opening = HybridClock.open(clock, bound, { waitsForBound: true })
    await settle()
    clock.advance(BOUND_AHEAD_MS)

    const reopened = await opening
    const other = await HybridClock.open(clock, new MemoryBound())
    other.observe(reopened.now())
    expect(reopened.wallOffsetMs()).to.equal(0)
  })

  it('among others: waits no longer for a wall clock that was set back', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    bound.value = timestampAtMs(START_MS + 3_600_000)
    const opening = HybridClock.open(clock, bound, { waitsForBound: true })
    await settle()
    clock.advance(BOUND_AHEAD_MS)

    expect(millisOf((await opening).now())).to.be.at.least(START_MS + 3_600_000)
  })

  it('does not lag behind the wall clock while its bound is kept ahead without stamps', async () => {
    const clock = new ManualClock(START_MS)
    const hybrid = await HybridClock.open(clock, new MemoryBound())
    clock.advance(100 * BOUND_AHEAD_MS)

    await hybrid.keepAhead()

    expect(millisOf(hybrid.now())).to.equal(clock.nowMs())
  })

  it('accepts stamps from its own disk however far ahead they are', async () => {
    const hybrid = await HybridClock.open(new ManualClock(START_MS), new MemoryBound())
    const own = timestampAtMs(START_MS + 100 * BOUND_AHEAD_MS)

    hybrid.observeOwn(own)
    await settle()

    expect(hybrid.now()).to.equal(own + 1n)
  })

  it('H4: continues from stamps of its own disk and does not stop', async () => {
    const clock = new ManualClock(START_MS)
    const hybrid = await HybridClock.open(clock, new MemoryBound())
    const own = START_MS + 100 * BOUND_AHEAD_MS
    hybrid.observeOwn(timestampAtMs(own))
    await settle()

    clock.advance(1000)

    expect(millisOf(hybrid.now())).to.be.within(own + 950, own + 1000)
  })

  it('H4: keeps its pace after a restart with a wall clock that was set back', async () => {
    const clock = new ManualClock(START_MS)
    const bound = new MemoryBound()
    await (await HybridClock.open(clock, bound)).close()
    clock.stepWall(-7_200_000)
    const hybrid = await HybridClock.open(clock, bound)
    const before = millisOf(hybrid.now())

    clock.advance(1000)

    expect(millisOf(hybrid.now()) - before).to.be.within(950, 1050)
  })

  it('logs a leap once, and its end', async () => {
    const clock = new ManualClock(START_MS)
    const lines: unknown[] = []
    const log = {
      ...silentLog,
      warn: (message: string, fields?: object) => lines.push([message, fields]),
      info: (message: string) => lines.push([message]),
    }
    const hybrid = await HybridClock.open(clock, new MemoryBound(), { log })
    clock.stepWall(7_200_000)
    await hybrid.keepAhead()
    clock.advance(1000)
    await hybrid.keepAhead()
    const told = hybrid.leapMs()
    clock.stepWall(-7_200_000)
    await hybrid.keepAhead()

    expect(lines).to.deep.equal([
      [
        'wall clock leapt; time follows it slowly',
        { leapMs: 7_200_000, followedInMs: 144_000_000 },
      ],
      ['time agrees with the wall clock again'],
    ])
    expect(told).to.equal(7_199_950)
    expect(hybrid.leapMs()).to.equal(undefined)
  })

  it('gives stamps later than every observed one', async () => {
    const hybrid = await HybridClock.open(new ManualClock(START_MS), new MemoryBound())
    const seen = timestampOf(timestampAtMs(START_MS + OFFSET_MAX_MS) + 7n)

    hybrid.observe(seen)
    hybrid.observe(TIMESTAMP_ZERO)

    expect(hybrid.now()).to.equal(seen + 1n)
  })

  it('H3: refuses a stamp too far in the future and keeps its time', async () => {
    const hybrid = await HybridClock.open(new ManualClock(START_MS), new MemoryBound())
    const seen = timestampAtMs(START_MS + OFFSET_MAX_MS + 1)

    expect(await errorOf(() => hybrid.observe(seen))).to.include({ code: 'UNAVAILABLE' })
    expect(hybrid.now()).to.equal(timestampAtMs(START_MS))
  })
})

describe('Timestamp', () => {
  it('has 64 bits', async () => {
    expect([-1n, 0n, 2n ** 64n - 1n, 2n ** 64n].map((value) => isTimestamp(value))).to.deep.equal([
      false,
      true,
      true,
      false,
    ])
    expect(await errorOf(() => timestampOf(-1n))).to.include({ code: 'INVALID_ARGUMENT' })
  })

  it('converts milliseconds to and fro', () => {
    expect(millisOf(timestampAtMs(START_MS))).to.equal(START_MS)
    expect(millisOf(timestampOf(timestampAtMs(START_MS) + 65_535n))).to.equal(START_MS)
  })
})
