// How fast one provider is asked.
//
// Invariants:
//   PP1  At most `inFlightMax` calls run at once, and the bytes of all that run stay within `bytesMax`, unless a
//        single call has more.
//   PP2  After a 429 the rate is half of what it was, and nothing starts before the provider's Retry-After. Calls
//        that had started before the last halving halve nothing again.
//   PP3  Without another 429 the rate grows by `GROWTH` each second, until it limits nothing.
//   PP4  Calls for queries start before calls for documents. Within each, order is kept.

import type { Clock } from '../../../lib/clock.ts'
import { ProviderError, isProviderError } from '../contract/provider-error.ts'

/** The limits of calls that run at once. */
export interface PaceLimits {
  readonly inFlightMax: number
  readonly bytesMax: number
}

/** One call that wants its turn. */
export interface PacedCall {
  /** The provider's name, for messages. */
  readonly name: string
  /** The bytes that it holds while it runs. */
  readonly bytes: number
  /** True: it goes first, and is refused rather than kept for long. */
  readonly isUrgent: boolean
  readonly signal: AbortSignal
}

const GROWTH = 1.05
/** One call in ten seconds. */
const RATE_PER_S_MIN = 0.1
/** Above it a rate limits nothing, because calls take longer. */
const RATE_PER_S_MAX = 1_000
const RATE_WINDOW_MS = 1_000
/** A search has other indexes to answer from. */
const URGENT_PATIENCE_MS = 1_000
/** Longer waits end here, and the next answer may ask again. */
const PAUSE_MS_MAX = 10 * 60_000

interface Waiter {
  readonly call: PacedCall
  readonly start: () => void
}

/** Starts calls by its limits and by what the provider says. */
export class ProviderPace {
  readonly #limits: PaceLimits
  readonly #clock: Clock
  readonly #urgent = new Set<Waiter>()
  readonly #patient = new Set<Waiter>()
  #running = 0
  #bytes = 0
  /** Calls in a second at most; undefined: any number. */
  #ratePerS: number | undefined
  /** When `#ratePerS` was true; it has grown since then. */
  #rateAtMs = 0
  #nextStartMs = 0
  #halvedAtMs = -1
  /** The starts of the current window and of the one before it. */
  #window = { atMs: 0, starts: 0, before: 0 }
  #alarm: AbortController | undefined

  constructor(limits: PaceLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Calls in a second at most; undefined: not limited. */
  get ratePerS(): number | undefined {
    this.#grow()
    return this.#ratePerS
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#urgent.size + this.#patient.size
  }

  /**
   * Runs the work when its turn has come. Rejects as the work does, with the signal's reason, or with a
   * `rate_limited` ProviderError if an urgent call would wait longer than a second for the rate.
   */
  async run<Result>(call: PacedCall, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(call)
    const startedAtMs = this.#clock.monotonicMs()
    try {
      return await work()
    } catch (error) {
      if (isProviderError(error) && error.failure.kind === 'rate_limited') {
        this.#slowDown(startedAtMs, error.failure.retryAfterMs ?? 0)
      }
      throw error
    } finally {
      this.#running -= 1
      this.#bytes -= call.bytes
      this.#startWaiting()
    }
  }

  async #turn(call: PacedCall): Promise<void> {
    call.signal.throwIfAborted()
    const nowMs = this.#clock.monotonicMs()
    const waitMs = this.#nextStartMs - nowMs + this.#urgent.size * this.#intervalMs
    if (call.isUrgent && waitMs > URGENT_PATIENCE_MS) {
      const retryAfterMs = Math.ceil(waitMs)
      const message = `${call.name}: the provider limits its rate; ask again in ${retryAfterMs} ms`
      throw new ProviderError({ kind: 'rate_limited', retryAfterMs }, message)
    }
    if (this.#isNext(call) && this.#mayStart(call, nowMs)) return this.#begin(call)
    const lane = call.isUrgent ? this.#urgent : this.#patient
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { call, start: resolve }
    const onAbort = (): void => {
      lane.delete(waiter)
      reject(call.signal.reason)
      this.#startWaiting()
    }
    lane.add(waiter)
    call.signal.addEventListener('abort', onAbort, { once: true })
    this.#setAlarm(nowMs)
    try {
      await promise
    } finally {
      call.signal.removeEventListener('abort', onAbort)
    }
  }

  /** Between two starts, as the rate has it. */
  get #intervalMs(): number {
    return this.#ratePerS === undefined ? 0 : 1000 / this.#ratePerS
  }

  /** Whether nobody waits who goes first. */
  #isNext({ isUrgent }: PacedCall): boolean {
    return this.#urgent.size === 0 && (isUrgent || this.#patient.size === 0)
  }

  #mayStart({ bytes }: PacedCall, nowMs: number): boolean {
    const { inFlightMax, bytesMax } = this.#limits
    const hasPlace = this.#running < inFlightMax
    const hasRoom = this.#bytes === 0 || this.#bytes + bytes <= bytesMax
    return hasPlace && hasRoom && nowMs >= this.#nextStartMs
  }

  #startWaiting(): void {
    for (const lane of [this.#urgent, this.#patient]) {
      for (const waiter of lane) {
        // The same time for both: a moment between them would leave everybody asleep.
        const nowMs = this.#clock.monotonicMs()
        if (!this.#mayStart(waiter.call, nowMs)) return this.#setAlarm(nowMs)
        lane.delete(waiter)
        this.#begin(waiter.call)
        waiter.start()
      }
    }
  }

  /** Counts the call from now on, although its work begins in a later turn. */
  #begin({ bytes }: PacedCall): void {
    this.#running += 1
    this.#bytes += bytes
    const nowMs = this.#clock.monotonicMs()
    this.#roll(nowMs)
    this.#window.starts += 1
    this.#grow()
    if (this.#ratePerS !== undefined) this.#nextStartMs = nowMs + 1000 / this.#ratePerS
  }

  #roll(nowMs: number): void {
    const passed = Math.floor((nowMs - this.#window.atMs) / RATE_WINDOW_MS)
    if (passed < 1) return
    const before = passed === 1 ? this.#window.starts : 0
    this.#window = { atMs: this.#window.atMs + passed * RATE_WINDOW_MS, starts: 0, before }
  }

  #slowDown(startedAtMs: number, retryAfterMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    this.#nextStartMs = Math.max(this.#nextStartMs, nowMs + Math.min(retryAfterMs, PAUSE_MS_MAX))
    if (startedAtMs <= this.#halvedAtMs) return
    this.#halvedAtMs = nowMs
    this.#roll(nowMs)
    this.#grow()
    const seen = Math.max(1, this.#window.starts, this.#window.before)
    const rate = Math.min(this.#ratePerS ?? seen, seen)
    this.#ratePerS = Math.max(RATE_PER_S_MIN, rate / 2)
    this.#rateAtMs = nowMs
    this.#nextStartMs = Math.max(this.#nextStartMs, nowMs + 1000 / this.#ratePerS)
  }

  #grow(): void {
    if (this.#ratePerS === undefined) return
    const nowMs = this.#clock.monotonicMs()
    const grown = this.#ratePerS * GROWTH ** ((nowMs - this.#rateAtMs) / 1000)
    this.#ratePerS = grown > RATE_PER_S_MAX ? undefined : grown
    this.#rateAtMs = nowMs
  }

  /** Wakes when the time of the next start has come, if anybody waits for it. */
  #setAlarm(nowMs: number): void {
    this.#alarm?.abort()
    this.#alarm = undefined
    const waitMs = this.#nextStartMs - nowMs
    if (this.waiting === 0 || waitMs <= 0) return
    const alarm = new AbortController()
    this.#alarm = alarm
    this.#clock.sleep(waitMs, alarm.signal).then(
      () => this.#startWaiting(),
      () => undefined, // another alarm replaces it
    )
  }
}
