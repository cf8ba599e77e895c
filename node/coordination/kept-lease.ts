// A lease as its owner keeps it: renewals in time, and the moment at which it stops counting on it.
//
// Invariants:
//   KL1  The lease is held at most until 0.8 of the TTL after the sending of an answered renewal.
//   KL2  A lease that was not held for a moment is never held again: `lost` has aborted, or the next
//        answer or timer aborts it and extends nothing.
//   KL3  One renewal is under way at a time.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError, messageOf } from '../../lib/errors.ts'
import type { Lease, LeaseId } from './lease.ts'
import { recordOf, type Renewal, type RenewalRecord } from './renewal-record.ts'

/** The rest of the TTL covers clock rates that differ, and the time until the owner has stopped. */
const HELD_SHARE = 0.8
/** Two renewals may fail before the lease is lost. */
const RENEWALS_PER_TTL = 3
const RETRIES_PER_TTL = 15
/** One renewal that nobody answers leaves time for others at other members. */
const ANSWERS_PER_TTL = 8
/** The clock that continues while the machine sleeps counts whole seconds. */
const UPTIME_STEP_MS = 1000

/** The store's side of a lease. */
export interface LeaseHome {
  /** The TTL in seconds, or undefined if the store has no such lease. Rejects if nobody answers. */
  renew(id: LeaseId, wait: RenewalWait): Promise<number | undefined>
  /** Deletes the keys and the lease. Resolves if the lease is gone already. */
  revoke(id: LeaseId): Promise<void>
}

/** How long an answer is waited for. An aborted `signal` makes the renewal useless. */
export interface RenewalWait {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** When a renewal was sent. */
export type Moment = Omit<Renewal, 'ttlSeconds'>

/** When the caller sent the request that granted the lease. Read it before the request. */
export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), uptimeMs: clock.uptimeMs() }
}

/** A lease as the store has granted it. */
export interface KeptLeaseOptions {
  readonly id: LeaseId
  readonly ttlSeconds: number
  readonly grantedAt: Moment
  readonly clock: Clock
  readonly home: LeaseHome
  /** Shared with another thread, which renews the lease. Undefined: the lease renews itself here. */
  readonly renewedElsewhere?: RenewalRecord
  /** Shared with another thread, which counts on the renewals here. */
  readonly record?: RenewalRecord
}

/** The implementation of Lease over any store. It is renewed from its construction on. */
export class KeptLease implements Lease {
  readonly id: LeaseId
  readonly #clock: Clock
  readonly #home: LeaseHome
  readonly #lost = new AbortController()
  readonly #record: RenewalRecord
  #revoking: Promise<void> | undefined
  /** Why the last renewal failed. */
  #failure = 'no renewal was sent'

  constructor(options: KeptLeaseOptions) {
    const { id, ttlSeconds, grantedAt, clock, home, renewedElsewhere, record } = options
    const granted = { ...grantedAt, ttlSeconds }
    this.id = id
    this.#record = renewedElsewhere ?? record ?? recordOf(granted)
    this.#record.write(granted)
    this.#clock = clock
    this.#home = home
    if (renewedElsewhere === undefined) void this.#keep()
    void this.#awaitLoss()
  }

  get ttlSeconds(): number {
    return this.#record.read().ttlSeconds
  }

  get heldUntilMs(): number {
    const renewal = this.#record.read()
    return renewal.monotonicMs + heldMs(renewal)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  isHeld(): boolean {
    if (this.#lost.signal.aborted) return false
    const { monotonicMs, uptimeMs } = momentOf(this.#clock)
    const renewal = this.#record.read()
    const sleptAndRunMs = uptimeMs - renewal.uptimeMs - UPTIME_STEP_MS
    return monotonicMs - renewal.monotonicMs < heldMs(renewal) && sleptAndRunMs < heldMs(renewal)
  }

  async revoke(): Promise<void> {
    this.lose('it was revoked')
    this.#revoking ??= this.#revoke()
    await this.#revoking
  }

  async #revoke(): Promise<void> {
    try {
      await this.#home.revoke(this.id)
    } catch (error) {
      this.#revoking = undefined // the owner may try again
      throw error
    }
  }

  /** Ends the renewals: the owner must not count on the lease any more. */
  lose(why: string): void {
    if (this.#lost.signal.aborted) return
    this.#lost.abort(new ServiceError('UNAVAILABLE', `the lease ${this.id} is lost: ${why}`))
  }

  async #keep(): Promise<void> {
    let pauseMs = this.#ttlMs() / RENEWALS_PER_TTL
    while (await this.#sleep(pauseMs)) {
      const renewed = await this.#renew()
      pauseMs = this.#ttlMs() / (renewed ? RENEWALS_PER_TTL : RETRIES_PER_TTL)
    }
  }

  /** Whether the store has answered. */
  async #renew(): Promise<boolean> {
    const sentAt = momentOf(this.#clock)
    try {
      const timeoutMs = this.#ttlMs() / ANSWERS_PER_TTL
      const wait = { timeoutMs, signal: this.#lost.signal }
      const ttlSeconds = await this.#home.renew(this.id, wait)
      if (ttlSeconds === undefined) this.lose('the store has ended it')
      else if (this.isHeld()) this.#extend(sentAt, ttlSeconds)
      else this.lose('a renewal was answered too late')
      return true
    } catch (error) {
      this.#failure = messageOf(error)
      return false
    }
  }

  #extend(sentAt: Moment, ttlSeconds: number): void {
    this.#record.write({ ...sentAt, ttlSeconds })
    this.#failure = 'a renewal is not answered'
  }

  async #awaitLoss(): Promise<void> {
    while (await this.#sleep(Math.max(0, this.heldUntilMs - this.#clock.monotonicMs()))) {
      if (!this.isHeld()) this.lose(`it was not renewed in time (${this.#failure})`)
    }
  }

  /** Whether the lease may still be held after the sleep. */
  async #sleep(ms: number): Promise<boolean> {
    try {
      await this.#clock.sleep(ms, this.#lost.signal)
      return true
    } catch {
      return false // lost during the sleep
    }
  }

  #ttlMs(): number {
    return this.ttlSeconds * 1000
  }
}

function heldMs({ ttlSeconds }: Renewal): number {
  return ttlSeconds * 1000 * HELD_SHARE
}
