// What keeps keys of a coordination store while their owner is alive.

import type { Brand } from '../../lib/brand.ts'
import { ServiceError } from '../../lib/errors.ts'

/** A lease is for the detection of failures, so a longer one has no use. */
export const LEASE_TTL_SECONDS_MAX = 3600

/** Names a lease in its store, in decimal digits. */
export type LeaseId = Brand<string, 'LeaseId'>

export function isLeaseId(text: string): text is LeaseId {
  return /^[1-9]\d{0,18}$/.test(text)
}

/**
 * A share of a store's attention: keys that are attached to it vanish when its owner falls silent.
 *
 * Contract, checked for every implementation by test/conformance/coordination-leases.ts:
 * - The lease renews itself until it is lost. `ttlSeconds` is what the store granted, which may be
 *   more than was asked for.
 * - The store keeps the keys for at least the TTL after the last renewal that it answered, and maybe
 *   longer. It deletes them in one commit, which watches see.
 * - `heldUntilMs` is a moment of the owner's monotonic clock: 0.8 of the TTL after the *sending* of
 *   the last renewal that was answered. So the owner knows of its loss before the store gives the
 *   keys away.
 * - `isHeld` reads the clock. It is right when timers are late, as after a pause of the process or a
 *   sleep of the machine.
 * - `lost` aborts when the lease is no longer held, with a ServiceError that says why. A lost lease
 *   is never held again, and nothing renews it.
 * - `revoke` deletes the keys at once and aborts `lost`. A later call changes nothing. If the store
 *   is away, it fails with UNAVAILABLE, and the keys stay for the rest of the TTL.
 * - Safety never depends on a lease. Its owner fences its writes by the create revision of a key.
 */
export interface Lease {
  readonly id: LeaseId
  readonly ttlSeconds: number
  readonly heldUntilMs: number
  readonly lost: AbortSignal
  isHeld(): boolean
  revoke(): Promise<void>
}

/** Throws INVALID_ARGUMENT for a time of life that no lease has. Every implementation calls it. */
export function checkTtl(ttlSeconds: number): void {
  if (Number.isInteger(ttlSeconds) && ttlSeconds >= 1 && ttlSeconds <= LEASE_TTL_SECONDS_MAX) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `a lease lives for 1 to ${LEASE_TTL_SECONDS_MAX} whole seconds, not ${ttlSeconds}`,
  )
}
