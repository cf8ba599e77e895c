// Everything that waits by an alarm is driven by one scheduler: time passes, work arrives and timers ring in any order, so a
// call may come after a due moment and before its timer. In the end nobody may wait.

import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { Alarm } from '../../../lib/alarm.ts'
import type { Clock } from '../../../lib/clock.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { Deadlines } from '../../../node/peer/deadlines.ts'
import { ProviderError } from '../../../node/providers/contract/provider-error.ts'
import { ProviderPace } from '../../../node/providers/embedding/provider-pace.ts'
import { LateClock } from '../../support/late-clock.ts'

const SEED = Number(process.env['QUARRY_TEST_SEED'] ?? 7)
const RUNS = 200
const STEPS = 40

/** What waits by an alarm. */
interface Driven {
  /** Something arrives that may have to wait. */
  arrive(random: Random): void
  /** Something that ran ends. */
  end(random: Random): void
  /** How many wait whose time has come, or will without another arrival. */
  waiting(): number
}

/** By the file that has an alarm. */
const DRIVERS: Readonly<Record<string, (clock: Clock) => Driven>> = {
  'node/peer/deadlines.ts': (clock) => {
    const deadlines = new Deadlines(clock)
    const waiting = new Set<object>()
    return {
      arrive(random) {
        const one = {}
        waiting.add(one)
        const deadline = deadlines.after(random() * 50, () => void waiting.delete(one))
        if (random() > 0.2) return
        deadline.cancel()
        waiting.delete(one)
      },
      end: () => undefined,
      waiting: () => waiting.size,
    }
  },
  'node/providers/embedding/provider-pace.ts': (clock) => {
    const pace = new ProviderPace({ inFlightMax: 2, bytesMax: 10 }, clock)
    const running: { end: (error?: Error) => void }[] = []
    return {
      arrive(random) {
        const stop = new AbortController()
        const isUrgent = random() < 0.3
        const call = { name: 'm', bytes: 1 + random() * 8, isUrgent, signal: stop.signal }
        pace.run(call, () => workIn(running)).catch(() => undefined)
        if (random() < 0.1) stop.abort(new Error('gone'))
      },
      end(random) {
        const error = new ProviderError({ kind: 'rate_limited', retryAfterMs: 20 }, 'slow down')
        running.shift()?.end(random() < 0.3 ? error : undefined)
      },
      waiting: () => pace.waiting,
    }
  },
}

/** Work that runs until the driver ends it. */
function workIn(running: { end: (error?: Error) => void }[]): Promise<void> {
  return new Promise((resolve, reject) => {
    running.push({ end: (error) => (error === undefined ? resolve() : reject(error)) })
  })
}

describe(`what waits by an alarm (QUARRY_TEST_SEED=${SEED})`, () => {
  it('has a driver here, wherever it is', () => {
    expect(filesWith(/new Alarm\(/)).to.have.members(Object.keys(DRIVERS))
  })

  it('is all that sets a timer again that may be set: others set theirs once', () => {
    const again =
      /this\.#\w+ = new AbortController\(\)|this\.#(?!stopTimer)\w+ = [^\n]*[cC]lock\.after\(/

    expect(filesWith(again)).to.deep.equal(['lib/alarm.ts'])
    expect(filesWith(/[cC]lock\.after\(/)).to.have.members(Object.keys(SET_ONCE))
  })

  for (const [file, open] of Object.entries(DRIVERS)) {
    it(`${file}: leaves nobody waiting, in whatever order calls and timers come`, async () => {
      for (let run = 0; run < RUNS; run += 1) {
        expect(await leftAfter(open, SEED + run), `run ${run}`).to.equal(0)
      }
    })
  }

  it('would be found asleep if an alarm were given up before another is set', async () => {
    let asleep = 0
    for (let run = 0; run < RUNS; run += 1) {
      const open = (clock: Clock): Driven => lineOf((ring) => new CancelFirst(clock, ring), clock)
      if ((await leftAfter(open, SEED + run)) > 0) asleep += 1
    }

    expect(asleep).to.be.above(0)
    for (let run = 0; run < RUNS; run += 1) {
      const open = (clock: Clock): Driven => lineOf((ring) => new Alarm(clock, ring), clock)
      expect(await leftAfter(open, SEED + run), `run ${run}`).to.equal(0)
    }
  })
})

/** Why a timer of these is set once. */
const SET_ONCE: Readonly<Record<string, string>> = {
  'lib/alarm.ts': 'the alarm itself',
  'node/clock/document-clock.ts': 'hands the call to another clock',
  'node/search/run/query-deadline.ts': 'when it is made',
  'node/index/host/search-limits.ts': 'for one question',
  'door/exchange.ts': 'for one request',
}

/** Runs a random schedule, and then lets all time pass. */
async function leftAfter(open: (clock: Clock) => Driven, seed: number): Promise<number> {
  const random = seededRandom(seed)
  const clock = new LateClock()
  const driven = open(clock)
  const acts = [
    () => driven.arrive(random),
    () => driven.end(random),
    () => clock.pass(Math.floor(random() * 30)),
    () => clock.deliver(),
  ]
  for (let step = 0; step < STEPS; step += 1) {
    acts[Math.floor(random() * acts.length)]?.()
    await turns()
  }
  for (let step = 0; step < STEPS * 3; step += 1) {
    driven.end(() => 1)
    clock.pass(30_000)
    clock.deliver()
    await turns()
  }
  return driven.waiting()
}

/** A line whose first waits for a moment. */
function lineOf(alarmOf: (ring: () => void) => Pick<Alarm, 'ringBy'>, clock: Clock): Driven {
  const due: number[] = []
  const alarm = alarmOf(() => serve())
  const serve = (): void => {
    while ((due[0] ?? Infinity) <= clock.monotonicMs()) due.shift()
    if (due[0] !== undefined) alarm.ringBy(due[0])
  }
  return {
    arrive(random) {
      due.push((due.at(-1) ?? clock.monotonicMs()) + random() * 20)
      alarm.ringBy(due[0] ?? 0)
    },
    end: () => undefined,
    waiting: () => due.length,
  }
}

/** The planted defect. */
class CancelFirst {
  readonly #clock: Clock
  readonly #ring: () => void
  #stop: (() => void) | undefined

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  ringBy(atMs: number): void {
    this.#stop?.()
    const waitMs = atMs - this.#clock.monotonicMs()
    if (waitMs > 0) this.#stop = this.#clock.after(waitMs, this.#ring)
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await Promise.resolve()
}

/** The files of the product that have it. */
function filesWith(pattern: RegExp): readonly string[] {
  const files = ['lib', 'node', 'inference', 'door', 'cli'].flatMap((folder) => {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`)
  })
  const found = files.filter((file) => pattern.test(readFileSync(file, 'utf8')))
  return found.filter((file) => file !== 'lib/clock.ts').toSorted()
}
