// Hybrid logical timestamps: 48 bits of milliseconds, 16 bits of counter, in one bigint.
//
// Invariants:
//   H1  `now` strictly increases, also when the wall clock steps back.
//   H2  Every stamp given out is below the persisted bound, or equal to it after `close`. A restart
//       begins at the bound, so each of its stamps is greater than every stamp before it.
//   H3  A stamp received from elsewhere is refused if it lies more than OFFSET_MAX_MS in the future.

import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Brand } from '../../lib/brand.ts'

/** A point in hybrid time; also the version of every document written at that point. */
export type Timestamp = Brand<bigint, 'Timestamp'>

const COUNTER_BITS = 16n
const TIMESTAMP_MAX = 0xffff_ffff_ffff_ffffn
export const OFFSET_MAX_MS = 500
/**
 * How far the persisted bound runs ahead. After a crash stamps begin this far in the future at most,
 * so it is short; and it is written again after each half of it, so it is not shorter.
 */
export const BOUND_AHEAD_MS = 3000

export function isTimestamp(value: bigint): value is Timestamp {
  return value >= 0n && value <= TIMESTAMP_MAX
}

export function timestampOf(value: bigint): Timestamp {
  if (!isTimestamp(value)) {
    throw new ServiceError('INVALID_ARGUMENT', `not a 64-bit timestamp: ${value}`)
  }
  return value
}

export const TIMESTAMP_ZERO = timestampOf(0n)

export function timestampAtMs(ms: number): Timestamp {
  return timestampOf(BigInt(ms) << COUNTER_BITS)
}

export function millisOf(timestamp: Timestamp): number {
  return Number(timestamp >> COUNTER_BITS)
}

/** Where the bound of H2 is kept. `save` resolves when the value survives a crash. */
export interface TimestampBound {
  load(): Promise<Timestamp>
  save(bound: Timestamp): Promise<void>
}

export class HybridClock {
  readonly #clock: Clock
  readonly #bound: TimestampBound
  #last: bigint
  #boundMs: number
  #extending: Promise<void> | undefined
  #closed = false

  private constructor(clock: Clock, bound: TimestampBound, start: Timestamp) {
    this.#clock = clock
    this.#bound = bound
    this.#last = start
    this.#boundMs = millisOf(start)
  }

  static async open(clock: Clock, bound: TimestampBound): Promise<HybridClock> {
    const opened = new HybridClock(clock, bound, await bound.load())
    await opened.#extend()
    return opened
  }

  /** A stamp of its own. UNAVAILABLE while the bound is used up and cannot be moved. */
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
   * A point to read at: not below any stamp given out or observed, and below every later `now`.
   * Unlike `now` it never runs out, so reading goes on while the disk is full.
   */
  readPoint(): Timestamp {
    const physical = this.#physical()
    if (physical > this.#last) this.#last = physical
    return timestampOf(this.#last)
  }

  /** The receive rule: from now on every stamp is greater than `seen`. */
  observe(seen: Timestamp): void {
    if (seen <= this.#last) return
    if (millisOf(seen) > this.#clock.nowMs() + OFFSET_MAX_MS) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `timestamp ${seen} is more than ${OFFSET_MAX_MS} ms in the future`,
      )
    }
    this.observeOwn(seen)
  }

  /**
   * `observe` for stamps from this node's own disk, which are true however far ahead they lie: the
   * wall clock may have stepped back since they were given out.
   */
  observeOwn(seen: Timestamp): void {
    if (seen <= this.#last) return
    this.#last = seen
    this.#extendIfClose(seen)
  }

  /**
   * Moves the bound ahead of the wall clock, also when nobody asks for stamps. Called every
   * BOUND_AHEAD_MS / 3 it lets no stamp lag behind the wall clock or wait for the disk.
   */
  async keepAhead(): Promise<void> {
    this.#extendIfClose(this.#last)
    await this.#extending
  }

  /** Lowers the bound to the last stamp, so that the next start need not run ahead of time. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#extending
    await this.#bound.save(timestampOf(this.#last))
  }

  /** Physical time, standing still just below the bound (H2). */
  #physical(): bigint {
    const ms = Math.max(0, Math.min(this.#clock.nowMs(), this.#boundMs - 1))
    return BigInt(ms) << COUNTER_BITS
  }

  #extendIfClose(stamp: bigint): void {
    const ms = Math.max(this.#clock.nowMs(), Number(stamp >> COUNTER_BITS))
    if (this.#closed || ms + BOUND_AHEAD_MS / 2 <= this.#boundMs) return
    this.#extending ??= this.#extend()
      .catch(() => undefined) // the old bound still holds; the next call tries again
      .finally(() => {
        this.#extending = undefined
      })
  }

  async #extend(): Promise<void> {
    const lastMs = Number(this.#last >> COUNTER_BITS)
    const boundMs = Math.max(this.#clock.nowMs(), lastMs) + BOUND_AHEAD_MS
    // After the wall clock stepped back the new bound may be lower, and old stamps above it.
    if (boundMs <= this.#boundMs) return
    await this.#bound.save(timestampAtMs(boundMs))
    this.#boundMs = boundMs
  }

  #assertOpen(): void {
    if (this.#closed) throw new ServiceError('UNAVAILABLE', 'the clock is closed')
  }
}
