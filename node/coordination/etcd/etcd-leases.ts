import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { EtcdFailure, errorOfFailure } from '../../../lib/etcd/etcd-failure.ts'
import { KeptLease, momentOf } from '../kept-lease.ts'
import type { LeaseHome, RenewalWait } from '../kept-lease.ts'
import { isLeaseId } from '../lease.ts'
import type { LeaseId } from '../lease.ts'
import { leaseOf } from './etcd-answers.ts'
import type { EtcdMembers } from './etcd-members.ts'
import type { LeaseThread } from './lease-thread.ts'
import { leaseGrantRequest, leaseKeepAliveRequest, leaseRevokeRequest } from './etcd-requests.ts'

/** What the leases need of their store. */
export interface EtcdLeasesOptions {
  readonly members: EtcdMembers
  readonly clock: Clock
  /** Renews the leases. Undefined: the loop of this thread does. */
  readonly thread: LeaseThread | undefined
  /** Aborts when the store closes. */
  readonly closing: AbortSignal
}

/**
 * The leases of one user of etcd. A grant whose answer is lost leaves a lease that nobody renews and
 * that has no keys.
 */
export class EtcdLeases implements LeaseHome {
  readonly #members: EtcdMembers
  readonly #clock: Clock
  readonly #thread: LeaseThread | undefined
  readonly #kept = new Set<KeptLease>()

  constructor({ members, clock, thread, closing }: EtcdLeasesOptions) {
    this.#members = members
    this.#thread = thread
    this.#clock = clock
    closing.addEventListener('abort', () => this.#loseAll(), { once: true })
  }

  async grant(wantedSeconds: number): Promise<KeptLease> {
    // Before the first attempt: the answer may be of any, and the owner must not count too long.
    const grantedAt = momentOf(this.#clock)
    const granted = leaseOf(await this.#members.call(leaseGrantRequest(wantedSeconds)))
    const id = `${granted.id}`
    if (!isLeaseId(id)) throw new ServiceError('CORRUPTION', `etcd granted the lease "${id}"`)
    const { ttlSeconds } = granted
    const parts = { id, ttlSeconds, grantedAt, clock: this.#clock, home: this }
    const lease = this.#thread?.keep(parts) ?? new KeptLease(parts)
    this.#kept.add(lease)
    lease.lost.addEventListener('abort', () => this.#kept.delete(lease), { once: true })
    return lease
  }

  renew(id: LeaseId, wait: RenewalWait): Promise<number | undefined> {
    return renewLease(this.#members, id, wait)
  }

  async revoke(id: LeaseId): Promise<void> {
    try {
      await this.#members.call(leaseRevokeRequest(BigInt(id)))
    } catch (error) {
      if (error instanceof EtcdFailure && error.kind === 'lease-gone') return
      throw error instanceof EtcdFailure ? errorOfFailure(error) : error
    }
  }

  /** Resolves when nothing renews a lease any more. */
  async close(): Promise<void> {
    await this.#thread?.close()
  }

  #loseAll(): void {
    for (const lease of this.#kept) lease.lose('its store is closed')
  }
}

/** See LeaseHome. */
export async function renewLease(
  members: EtcdMembers,
  id: LeaseId,
  wait: RenewalWait,
): Promise<number | undefined> {
  const answer = await members.attempt(leaseKeepAliveRequest(BigInt(id)), wait)
  const { ttlSeconds } = leaseOf(answer)
  return ttlSeconds > 0 ? ttlSeconds : undefined
}
