// How fast one provider is asked.
//
// Invariants:
//   PP1  At most `inFlightMax` calls run at once, and the bytes of all that run stay within `bytesMax`, unless a
//        single call has more.
//   PP2  After a 429 the rate is half of what it was, and nothing starts before the provider's Retry-After. Calls
//        that had started before the last halving halve nothing again.
//   PP3  Without another 429 the rate grows by `GROWTH` each second, until it limits nothing. A call that succeeds doubles
//        it, until it is half of the rate at which the provider began to refuse: a storm that is over is soon forgotten.
//   PP4  Calls for queries start before calls for documents. Within each, order is kept. A query starts
//        QUERY_INTERVAL_MS after the last one at the latest, however low the rate is, unless Retry-After forbids it.
//   PP5  While somebody waits for a moment, an alarm is set for it; who waits for a place is woken by the end of a call.

import { Alarm } from '../../../lib/alarm.ts'
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
/** What answers once is asked once in a second. */
const RATE_AFTER_SUCCESS_MIN = 1
/** Above it a rate limits nothing, because calls take longer. */
const RATE_PER_S_MAX = 1_000
const RATE_WINDOW_MS = 1_000
/** The share of queries: they are few, and people wait for them. */
const QUERY_INTERVAL_MS = 500
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
  /** The rate at which the provider refused calls after it had taken some. */
  #refusedAtRate = 0
  #hasSucceeded = true
  /** By what Retry-After says. */
  #notBeforeMs = 0
  #nextStartMs = 0
  #nextQueryMs = 0
  #halvedAtMs = -1
  /** The starts of the current window and of the one before it. */
  #window = { atMs: 0, starts: 0, before: 0 }
  readonly #alarm: Alarm

  constructor(limits: PaceLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#alarm = new Alarm(clock, () => this.#startWaiting())
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
      const result = await work()
      this.#speedUp(startedAtMs)
      return result
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
    const waitMs = this.#startsAtMs(true) - nowMs + this.#urgent.size * this.#intervalMs
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
    // The moment that others wait for may have come, before their alarm has rung.
    this.#startWaiting()
    try {
      await promise
    } finally {
      call.signal.removeEventListener('abort', onAbort)
    }
  }

  /** Between two queries at the most. */
  get #intervalMs(): number {
    return this.#ratePerS === undefined ? 0 : Math.min(QUERY_INTERVAL_MS, 1000 / this.#ratePerS)
  }

  /** When the next call may start, as far as it is a matter of time. */
  #startsAtMs(isUrgent: boolean): number {
    const byRate = isUrgent ? Math.min(this.#nextStartMs, this.#nextQueryMs) : this.#nextStartMs
    return Math.max(this.#notBeforeMs, byRate)
  }

  /** Whether no waiting call has precedence. */
  #isNext({ isUrgent }: PacedCall): boolean {
    return this.#urgent.size === 0 && (isUrgent || this.#patient.size === 0)
  }

  #mayStart({ bytes, isUrgent }: PacedCall, nowMs: number): boolean {
    const { inFlightMax, bytesMax } = this.#limits
    const hasPlace = this.#running < inFlightMax
    const hasRoom = this.#bytes === 0 || this.#bytes + bytes <= bytesMax
    return hasPlace && hasRoom && nowMs >= this.#startsAtMs(isUrgent)
  }

  #startWaiting(): void {
    for (const lane of [this.#urgent, this.#patient]) {
      for (const waiter of lane) {
        // The same time for both: a moment between them would leave everybody asleep.
        const nowMs = this.#clock.monotonicMs()
        if (!this.#mayStart(waiter.call, nowMs)) return this.#ringFor(waiter, nowMs)
        lane.delete(waiter)
        this.#begin(waiter.call)
        waiter.start()
      }
    }
  }

  /** The end of another call wakes one whose moment has come. */
  #ringFor({ call }: Waiter, nowMs: number): void {
    const startsAtMs = this.#startsAtMs(call.isUrgent)
    if (nowMs < startsAtMs) this.#alarm.ringBy(startsAtMs)
  }

  /** Counts the call from now on, although its work begins in a later turn. */
  #begin({ bytes, isUrgent }: PacedCall): void {
    this.#running += 1
    this.#bytes += bytes
    const nowMs = this.#clock.monotonicMs()
    this.#roll(nowMs)
    this.#window.starts += 1
    this.#grow()
    if (isUrgent) this.#nextQueryMs = nowMs + QUERY_INTERVAL_MS
    // A query that starts by its own share takes none of the others'.
    if (this.#ratePerS !== undefined && nowMs >= this.#nextStartMs) {
      this.#nextStartMs = nowMs + 1000 / this.#ratePerS
    }
  }

  #roll(nowMs: number): void {
    const passed = Math.floor((nowMs - this.#window.atMs) / RATE_WINDOW_MS)
    if (passed < 1) return
    const before = passed === 1 ? this.#window.starts : 0
    this.#window = { atMs: this.#window.atMs + passed * RATE_WINDOW_MS, starts: 0, before }
  }

  #slowDown(startedAtMs: number, retryAfterMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + Math.min(retryAfterMs, PAUSE_MS_MAX))
    if (startedAtMs <= this.#halvedAtMs) return
    this.#halvedAtMs = nowMs
    this.#roll(nowMs)
    this.#grow()
    const seen = Math.max(1, this.#window.starts, this.#window.before)
    const rate = Math.min(this.#ratePerS ?? seen, seen)
    if (this.#hasSucceeded) this.#refusedAtRate = rate
    this.#hasSucceeded = false
    this.#ratePerS = Math.max(RATE_PER_S_MIN, rate / 2)
    this.#rateAtMs = nowMs
    this.#nextStartMs = Math.max(this.#nextStartMs, nowMs + 1000 / this.#ratePerS)
    this.#nextQueryMs = Math.max(this.#nextQueryMs, nowMs + this.#intervalMs)
  }

  /** A call that started before the last halving tells nothing about the provider of now. */
  #speedUp(startedAtMs: number): void {
    if (this.#ratePerS === undefined || startedAtMs <= this.#halvedAtMs) return
    this.#hasSucceeded = true
    const rate = this.ratePerS
    if (rate === undefined || rate >= this.#refusedAtRate / 2) return
    this.#ratePerS = Math.max(RATE_AFTER_SUCCESS_MIN, rate * 2)
    const nextMs = this.#clock.monotonicMs() + 1000 / this.#ratePerS
    this.#nextStartMs = Math.min(this.#nextStartMs, nextMs)
  }

  #grow(): void {
    if (this.#ratePerS === undefined) return
    const nowMs = this.#clock.monotonicMs()
    const grown = this.#ratePerS * GROWTH ** ((nowMs - this.#rateAtMs) / 1000)
    this.#ratePerS = grown > RATE_PER_S_MAX ? undefined : grown
    this.#rateAtMs = nowMs
  }
}
