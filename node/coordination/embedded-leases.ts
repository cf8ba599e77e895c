// The leases of an embedded coordination store: the store's side of them.
//
// Invariants:
//   EL1  A lease that has expired or is revoked takes no key and no renewal, even before its keys are
//        deleted.
//   EL2  An ended lease is forgotten only when its keys are deleted.

import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { KeptLease, momentOf } from './kept-lease.ts'
import type { LeaseHome } from './kept-lease.ts'
import { isLeaseId } from './lease.ts'
import type { LeaseId } from './lease.ts'

/** How long a disk that refuses the deletion of the keys is left alone. */
const RETRY_MS = 1000

interface Term {
  readonly ttlSeconds: number
  expiresAtMs: number
}

/** What the leases need of their store. */
export interface EmbeddedLeasesOptions {
  readonly clock: Clock
  /** Aborts when the store closes. */
  readonly closing: AbortSignal
  /** Deletes the keys of a lease that has ended, in one commit. */
  readonly deleteKeys: (id: LeaseId) => Promise<unknown>
}

/** Grants leases and ends those that nobody renews. */
export class EmbeddedLeases implements LeaseHome {
  readonly #options: EmbeddedLeasesOptions
  readonly #terms = new Map<LeaseId, Term>()
  readonly #kept = new Set<KeptLease>()
  #granted = 0

  constructor(options: EmbeddedLeasesOptions) {
    this.#options = options
    options.closing.addEventListener('abort', () => this.#loseAll(), { once: true })
  }

  grant(ttlSeconds: number): KeptLease {
    const { clock } = this.#options
    this.#granted += 1
    const id = `${this.#granted}`
    assert(isLeaseId(id), 'a count is the id of a lease')
    const grantedAt = momentOf(clock)
    const term = { ttlSeconds, expiresAtMs: grantedAt.monotonicMs + ttlSeconds * 1000 }
    this.#terms.set(id, term)
    void this.#expire(id, term)
    const lease = new KeptLease({ id, ttlSeconds, grantedAt, clock, home: this })
    this.#kept.add(lease)
    lease.lost.addEventListener('abort', () => this.#kept.delete(lease), { once: true })
    return lease
  }

  has(id: LeaseId): boolean {
    const term = this.#terms.get(id)
    return term !== undefined && this.#options.clock.monotonicMs() < term.expiresAtMs
  }

  async renew(id: LeaseId): Promise<number | undefined> {
    const term = this.#terms.get(id)
    if (term === undefined || !this.has(id)) return undefined
    term.expiresAtMs = this.#options.clock.monotonicMs() + term.ttlSeconds * 1000
    return term.ttlSeconds
  }

  async revoke(id: LeaseId): Promise<void> {
    const term = this.#terms.get(id)
    if (term === undefined) return
    term.expiresAtMs = -Infinity
    await this.#options.deleteKeys(id)
    this.#terms.delete(id)
  }

  async #expire(id: LeaseId, term: Term): Promise<void> {
    const { clock } = this.#options
    let waitMs = term.ttlSeconds * 1000
    while (this.#terms.has(id) && (await this.#sleep(waitMs))) {
      waitMs = Math.max(term.expiresAtMs - clock.monotonicMs(), 0)
      if (this.has(id)) continue
      // The disk may refuse. Then the keys stay until it takes their deletion.
      waitMs = RETRY_MS
      await this.revoke(id).catch(() => undefined)
    }
  }

  /** Whether the store is still open after the sleep. */
  async #sleep(ms: number): Promise<boolean> {
    try {
      await this.#options.clock.sleep(ms, this.#options.closing)
      return true
    } catch {
      return false
    }
  }

  #loseAll(): void {
    for (const lease of this.#kept) lease.lose('its store is closed')
  }
}
