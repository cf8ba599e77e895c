import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import {
  defaultRequestMemoryBytes,
  Pace,
  PACE_BYTES_PER_WINDOW_MIN,
  PACE_WINDOW_MS,
  RequestMemory,
} from '../../../../lib/http/request-memory.ts'
import type { Upload } from '../../../../lib/http/request-memory.ts'

const GIB = 2 ** 30

function codeOf(act: () => void): string {
  try {
    act()
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
  return 'none'
}

/** An upload of the given pace, which releases its memory when it is ended. */
function uploadOf(budget: RequestMemory, { bytes, isSlow }: { bytes: number; isSlow: boolean }) {
  const held = budget.hold()
  held.add(bytes)
  const told: string[] = []
  const upload: Upload = {
    isSlow: () => isSlow,
    giveUp: ({ code }) => {
      told.push(code)
      held[Symbol.dispose]()
    },
  }
  budget.watch(upload)
  return { told, upload }
}

describe('the memory of requests', () => {
  let clock: ManualClock
  let budget: RequestMemory

  beforeEach(() => {
    clock = new ManualClock()
    budget = new RequestMemory({ bytesMax: 100, clock })
  })

  it('counts the bytes that all requests hold together', () => {
    const [left, right] = [budget.hold(), budget.hold()]
    left.add(30)
    right.add(40)
    left.release(10)

    expect(budget.heldBytes).to.equal(60)
  })

  it('refuses bytes that do not fit, and adds none of them', () => {
    const [left, right] = [budget.hold(), budget.hold()]
    left.add(70)

    const code = codeOf(() => right.add(31))

    expect(code).to.equal('OVERLOADED')
    expect(budget.heldBytes).to.equal(70)
    expect(codeOf(() => right.add(30))).to.equal('none')
  })

  it('gets all bytes of a closed holding back, once', () => {
    const held = budget.hold()
    held.add(50)

    held[Symbol.dispose]()
    held[Symbol.dispose]()

    expect(budget.heldBytes).to.equal(0)
    expect(codeOf(() => held.add(1))).to.equal('OVERLOADED')
  })

  it('takes the place of slow uploads, and of no others', () => {
    const fast = uploadOf(budget, { bytes: 40, isSlow: false })
    const slow = uploadOf(budget, { bytes: 50, isSlow: true })

    budget.hold().add(60)

    expect([slow.told, fast.told]).to.deep.equal([['OVERLOADED'], []])
    expect(budget.heldBytes).to.equal(100)
  })

  it('leaves slow uploads alone while there is room', () => {
    const slow = uploadOf(budget, { bytes: 50, isSlow: true })

    budget.hold().add(50)

    expect(slow.told).to.deep.equal([])
  })

  it('forgets an upload that has ended', () => {
    const slow = uploadOf(budget, { bytes: 50, isSlow: true })
    budget.forget(slow.upload)

    const code = codeOf(() => budget.hold().add(60))

    expect([code, slow.told]).to.deep.equal(['OVERLOADED', []])
  })

  it('is a quarter of the machine by default, within bounds', () => {
    expect(defaultRequestMemoryBytes(2 * GIB)).to.equal(GIB / 2)
    expect(defaultRequestMemoryBytes(64 * GIB)).to.equal(GIB)
    expect(defaultRequestMemoryBytes(GIB / 8)).to.equal(GIB / 8)
  })
})

describe('the pace of an upload', () => {
  it('is not slow before a whole window is over', () => {
    const pace = new Pace(0)

    expect(pace.isSlow(PACE_WINDOW_MS - 1)).to.equal(false)
    expect(pace.isSlow(PACE_WINDOW_MS)).to.equal(true)
  })

  it('is slow when it stalls after a fast beginning', () => {
    const pace = new Pace(0)
    pace.note(100 * PACE_BYTES_PER_WINDOW_MIN, 0)

    expect(pace.isSlow(PACE_WINDOW_MS)).to.equal(false)
    pace.note(1, PACE_WINDOW_MS)
    expect(pace.isSlow(2 * PACE_WINDOW_MS)).to.equal(true)
  })

  it('is slow for an upload that trickles', () => {
    const pace = new Pace(0)
    const seen: boolean[] = []
    for (let ms = 0; ms < 10 * PACE_WINDOW_MS; ms += PACE_WINDOW_MS / 4) {
      pace.note(1, ms)
      if (ms >= PACE_WINDOW_MS) seen.push(pace.isSlow(ms))
    }

    expect(seen.every(Boolean)).to.equal(true)
  })

  it('is not slow at the lowest pace that is allowed', () => {
    const pace = new Pace(0)
    const seen: boolean[] = []
    for (let ms = 0; ms < 10 * PACE_WINDOW_MS; ms += PACE_WINDOW_MS / 4) {
      pace.note(PACE_BYTES_PER_WINDOW_MIN / 2, ms)
      seen.push(pace.isSlow(ms))
    }

    expect(seen.some(Boolean)).to.equal(false)
  })
})
