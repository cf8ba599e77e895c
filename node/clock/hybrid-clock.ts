// Hybrid logical timestamps: 48 bits of milliseconds and 16 bits of counter, in one bigint.
//
// Invariants:
//   H1  `now` strictly increases, also when the wall clock steps back.
//   H2  Every stamp is below the persisted bound, or equal to it after `close`. A restart begins at
//       the bound, so each of its stamps is greater than every stamp before it.
//   H3  A stamp from another node is refused if it lies more than OFFSET_MAX_MS in the future.
//   H4  The milliseconds of stamps are PacedTime (PT1 to PT3): they keep moving when the wall clock
//       steps back, and follow a leap of it at a bounded rate. A new start begins at the wall clock
//       or at the bound, whichever is later.
//
// Expiry, history, idempotency keys and finished transactions are judged by this time. So lookups,
// checks and deletions agree on what has expired.

import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Brand } from '../../lib/brand.ts'
import { silentLog, type Log } from '../../lib/log.ts'
import { PacedTime, SLEW_RATIO } from './paced-time.ts'
import { ReckonedTime } from './reckoned-time.ts'

/** A point in hybrid time; also the version of every document written at that point. */
export type Timestamp = Brand<bigint, 'Timestamp'>

const COUNTER_BITS = 16n
const TIMESTAMP_MAX = 0xffff_ffff_ffff_ffffn
/** How far a stamp from another node may lie in the future. */
export const OFFSET_MAX_MS = 500
/**
 * How far the persisted bound runs ahead. After a crash, stamps begin at most this far in the
 * future, so the value is short. The bound is written again after each half of it, so the value is
 * not shorter.
 */
export const BOUND_AHEAD_MS = 3000
/** A larger offset to the wall clock counts as a leap, and is logged for the operator. */
const LEAP_MIN_MS = 10_000

export function isTimestamp(value: bigint): value is Timestamp {
  return value >= 0n && value <= TIMESTAMP_MAX
}

/** Parses a stored or received value. Throws INVALID_ARGUMENT beyond 64 bits. */
export function timestampOf(value: bigint): Timestamp {
  if (!isTimestamp(value)) {
    throw new ServiceError('INVALID_ARGUMENT', `not a 64-bit timestamp: ${value}`)
  }
  return value
}

export const TIMESTAMP_ZERO = timestampOf(0n)

/** The first timestamp of a millisecond since 1970. */
export function timestampAtMs(ms: number): Timestamp {
  return timestampOf(BigInt(ms) << COUNTER_BITS)
}

/** The milliseconds since 1970 of a timestamp. */
export function millisOf(timestamp: Timestamp): number {
  return Number(timestamp >> COUNTER_BITS)
}

/**
 * Stores the bound of H2. `load` answers TIMESTAMP_ZERO before the first `save`. `save` resolves
 * once the value survives a crash.
 */
export interface TimestampBound {
  load(): Promise<Timestamp>
  save(bound: Timestamp): Promise<void>
}

/** How the clock reports leaps. Without `log` it reports nothing. */
export interface HybridClockOptions {
  readonly log?: Log
  /** Default LEAP_MIN_MS. */
  readonly leapMinMs?: number
  /**
   * For a node among others, which refuse stamps from the future (H3): after a crash the start waits until the
   * wall clock has come to the bound. Otherwise the others would refuse everything of this node for as long as
   * its time takes to slew back, which is up to a minute. It waits for BOUND_AHEAD_MS at most: a wall clock that
   * is farther behind has leapt.
   */
  readonly waitsForBound?: boolean
}

/**
 * The clock of one node. Only one may be open for a bound. After `close`, `now` fails with
 * UNAVAILABLE.
 */
export class HybridClock {
  readonly #time: PacedTime
  readonly #reckoned = new ReckonedTime()
  readonly #log: Log
  readonly #leapMinMs: number
  readonly #bound: TimestampBound
  #last: bigint
  #boundMs: number
  #extending: Promise<void> | undefined
  #closed = false
  #leapTold = false

  private constructor(
    time: PacedTime,
    bound: TimestampBound,
    start: Timestamp,
    { log = silentLog, leapMinMs = LEAP_MIN_MS }: HybridClockOptions,
  ) {
    this.#time = time
    this.#log = log
    this.#leapMinMs = leapMinMs
    this.#bound = bound
    this.#last = start
    this.#boundMs = millisOf(start)
  }

  static async open(
    clock: Clock,
    bound: TimestampBound,
    options: HybridClockOptions = {},
  ): Promise<HybridClock> {
    const start = await bound.load()
    const aheadMs = millisOf(start) - clock.nowMs()
    if (options.waitsForBound === true && aheadMs > 0) {
      await clock.sleep(Math.min(aheadMs, BOUND_AHEAD_MS))
    }
    const time = new PacedTime(clock, millisOf(start))
    const opened = new HybridClock(time, bound, start, options)
    await opened.#extend()
    opened.#tellOfLeap()
    return opened
  }

  /**
   * A new stamp, greater than every stamp before it. Throws UNAVAILABLE while the bound is used up
   * and cannot be saved.
   */
  now(): Timestamp {
    this.#assertOpen()
    const physical = this.#physical()
    const next = physical > this.#last ? physical : this.#last + 1n
    this.#extendIfClose(next)
    if (next >= timestampAtMs(this.#boundMs)) {
      throw new ServiceError(
        'UNAVAILABLE',
        'the clock cannot move on before its bound is saved; check the disk and try again',
      )
    }
    this.#last = next
    return timestampOf(next)
  }

  /**
   * A stamp to read at. It is not below any stamp that this clock has given or observed, and it is
   * below every later `now`. Unlike `now` it never fails, so reads continue while the disk is full.
   */
  readPoint(): Timestamp {
    const physical = this.#physical()
    if (physical > this.#last) this.#last = physical
    return timestampOf(this.#last)
  }

  /**
   * The receive rule: from now on every stamp is greater than `seen`. Throws UNAVAILABLE by H3: no client is to
   * blame when the clocks of two nodes disagree.
   */
  observe(seen: Timestamp): void {
    if (seen <= this.#last) return
    const seenMs = millisOf(seen)
    if (seenMs > this.#time.nowMs() + OFFSET_MAX_MS) {
      throw new ServiceError(
        'UNAVAILABLE',
        `timestamp ${seen} is more than ${OFFSET_MAX_MS} ms in the future: the clocks of the nodes differ`,
      )
    }
    this.#last = seen
    this.#reckoned.note(seenMs, this.#time.readAtMs)
    this.#extendIfClose(seen)
  }

  /**
   * Milliseconds since 1970 to measure the age of a stamp by, whichever node gave it. They advance by the monotonic clock
   * from the latest stamp that was seen in the last ten minutes (RT1), whatever the wall clocks do: not by hybrid time, which slews.
   */
  reckonedMs(): number {
    this.#physical()
    return Math.ceil(this.#reckoned.at(this.#time.readAtMs))
  }

  /**
   * Observes a stamp from this node's own disk. Such a stamp is right however far ahead it lies,
   * because the wall clock may have stepped back since. Time continues from it.
   */
  observeOwn(seen: Timestamp): void {
    if (seen <= this.#last) return
    this.#time.raiseTo(millisOf(seen))
    this.#last = seen
    this.#extendIfClose(seen)
  }

  /** How far the wall clock is ahead of hybrid time, in ms; negative if it is behind. */
  wallOffsetMs(): number {
    return this.#time.offsetMs()
  }

  /** How far the wall clock has leapt from hybrid time, in ms; undefined if it has not. */
  leapMs(): number | undefined {
    const offsetMs = this.wallOffsetMs()
    return Math.abs(offsetMs) > this.#leapMinMs ? offsetMs : undefined
  }

  /**
   * Moves the bound ahead of time, also while no stamps are requested. If it is called every
   * BOUND_AHEAD_MS / 3, no stamp lags behind or waits for the disk.
   */
  async keepAhead(): Promise<void> {
    this.#tellOfLeap()
    this.#extendIfClose(this.#last)
    await this.#extending
  }

  /** Lowers the bound to the last stamp, so that the next start does not begin in the future. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#extending
    await this.#bound.save(timestampOf(this.#last))
  }

  /** Physical time. It stops just below the bound (H2). */
  #physical(): bigint {
    const nowMs = this.#time.nowMs()
    this.#reckoned.note(nowMs, this.#time.readAtMs)
    const ms = Math.max(0, Math.min(nowMs, this.#boundMs - 1))
    return BigInt(ms) << COUNTER_BITS
  }

  #extendIfClose(stamp: bigint): void {
    const ms = Math.max(this.#time.nowMs(), Number(stamp >> COUNTER_BITS))
    if (this.#closed || ms + BOUND_AHEAD_MS / 2 <= this.#boundMs) return
    this.#extending ??= this.#extend()
      .catch(() => undefined) // the old bound still holds; the next call tries again
      .finally(() => {
        this.#extending = undefined
      })
  }

  async #extend(): Promise<void> {
    const lastMs = Number(this.#last >> COUNTER_BITS)
    const boundMs = Math.max(this.#time.nowMs(), lastMs) + BOUND_AHEAD_MS
    if (boundMs <= this.#boundMs) return
    await this.#bound.save(timestampAtMs(boundMs))
    this.#boundMs = boundMs
  }

  /** Logs each leap once. */
  #tellOfLeap(): void {
    const leapMs = this.leapMs()
    if (leapMs !== undefined && !this.#leapTold) {
      this.#leapTold = true
      const followedInMs = Math.abs(leapMs) / SLEW_RATIO
      this.#log.warn('wall clock leapt; time follows it slowly', { leapMs, followedInMs })
    } else if (this.#leapTold && Math.abs(this.wallOffsetMs()) < this.#leapMinMs / 2) {
      this.#leapTold = false
      this.#log.info('time agrees with the wall clock again')
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new ServiceError('UNAVAILABLE', 'the clock is closed')
  }
}
