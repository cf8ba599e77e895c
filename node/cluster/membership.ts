// A node's membership in its cluster: it registers, stays registered, and leaves.
//
//   registered ◄──────► away ──────► ended
//        └──────────────────────────►
//
// `away`: the lease is lost or the store does not answer; the node registers again as soon as it can, in
// the same life. `ended`: another process has registered under the node's id.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError, isServiceError, messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { liveKey, type ClusterIdentity } from '../controller/core/records/cluster-codec.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { Lease } from '../coordination/lease.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import { claimCluster } from './claim-cluster.ts'
import { followEntries } from './follow-entries.ts'
import type { NodeIdentity } from './node-identity.ts'
import { Registrar, type NodeDescription } from './registrar.ts'

/** After this a node that does not answer counts as gone, and its shards get other leaders. */
const NODE_TTL_SECONDS = 10
const RETRY_MS = 500

/** Who joins which cluster. */
export interface MembershipOptions {
  readonly coordination: Coordination
  readonly identity: NodeIdentity
  /** The name of the cluster. */
  readonly cluster: string
  readonly description: NodeDescription
  /** Whole seconds. Default: NODE_TTL_SECONDS. */
  readonly ttlSeconds?: number
  /** Why other nodes cannot use this one from its beginning; undefined: they can. */
  readonly unreached?: string | undefined
  readonly clock: Clock
  readonly log: Log
  /** Makes the id of a cluster that this node creates. */
  readonly newClusterId: () => string
}

export type MembershipState = 'registered' | 'away' | 'ended'

/**
 * A node that has joined.
 *
 * - `state` reads the clock, so it is right when timers are late: rule L1.
 * - The registration is written again, with the same incarnation, when its lease was lost and when somebody
 *   else has removed it.
 * - `ended` aborts when the node cannot be a member any more. The process has to stop then.
 * - `leave` says that the node is about to stop, and `markDamaged` that it has lost data. Both resolve when
 *   the cluster can see it, and reject if the store cannot be asked; it is written as soon as it can be.
 * - `reach` says why the node takes no replicas, or that it does. It is written as soon as it can be.
 * - `close` takes the registration away. If the store is away, it goes with its lease.
 */
export interface Membership extends AsyncDisposable {
  readonly nodeId: NodeId
  readonly cluster: ClusterIdentity
  readonly incarnation: number
  readonly state: MembershipState
  readonly ended: AbortSignal
  leave(): Promise<void>
  /** Undefined: other nodes reach it. */
  reach(unreached: string | undefined): void
  markDamaged(): Promise<void>
  close(): Promise<void>
}

/**
 * Joins the cluster, and creates it if there is none. Resolves when the node is registered. Rejects
 * - with INVALID_ARGUMENT for another cluster and for a decommissioned node,
 * - with CONFLICT if another process stays registered under the node's id for longer than the lease of an
 *   earlier life could last, or if the data directory is an older copy: it is marked then, and the next
 *   start joins,
 * - with UNAVAILABLE if the store cannot be asked, or has ended the lease before the registration was there: on a
 *   machine that stood still. Joining again is harmless.
 */
export async function joinCluster(
  options: MembershipOptions,
  signal: AbortSignal,
): Promise<Membership> {
  const { coordination, identity, cluster: name, newClusterId } = options
  const remembered = identity.cluster
  const cluster = await claimCluster(coordination, { name, remembered, newId: newClusterId })
  if (remembered === undefined) await identity.joined(cluster)
  const membership = new RegisteredNode(options, cluster)
  try {
    await membership.join(signal)
    return membership
  } catch (error) {
    await membership.close()
    throw error
  }
}

class RegisteredNode implements Membership {
  readonly cluster: ClusterIdentity
  readonly #options: MembershipOptions
  readonly #registrar: Registrar
  readonly #closing = new AbortController()
  readonly #ended = new AbortController()
  #keeping: Promise<unknown> = Promise.resolve()
  /** Registrations are made one after the other. */
  #tail: Promise<unknown> = Promise.resolve()
  #lease: Lease | undefined
  #isRegistered = false
  #isLeaving = false
  #unreached: string | undefined
  #disturbed = Promise.withResolvers<void>()

  constructor(options: MembershipOptions, cluster: ClusterIdentity) {
    this.#options = options
    this.cluster = cluster
    this.#registrar = new Registrar(options)
    this.#unreached = options.unreached
  }

  get nodeId(): NodeId {
    return this.#options.identity.nodeId
  }

  get incarnation(): number {
    return this.#options.identity.incarnation
  }

  get state(): MembershipState {
    if (this.#ended.signal.aborted) return 'ended'
    return this.#isRegistered && this.#lease?.isHeld() === true ? 'registered' : 'away'
  }

  get ended(): AbortSignal {
    return this.#ended.signal
  }

  async join(signal: AbortSignal): Promise<void> {
    // The lease of an earlier life ends after its TTL, or twice that if etcd's leader changed.
    const waitMs = (2 * this.#ttlSeconds + 5) * 1000
    await this.#register(waitMs, AbortSignal.any([signal, this.#closing.signal]))
    this.#keeping = Promise.all([this.#keep(), this.#watchKey()])
  }

  async leave(): Promise<void> {
    this.#isLeaving = true
    await this.#reconcile()
  }

  reach(unreached: string | undefined): void {
    if (unreached === this.#unreached) return
    this.#unreached = unreached
    this.#disturbed.resolve()
  }

  async markDamaged(): Promise<void> {
    // This life is registered, and what it had in sync does not count either.
    await this.#options.identity.markDamaged(this.incarnation + 1)
    await this.#reconcile()
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(new ServiceError('UNAVAILABLE', 'this node has left the cluster'))
    this.#disturbed.resolve()
    await this.#keeping
    await this.#tail
    this.#isRegistered = false
    await this.#lease?.revoke().catch((error: unknown) => {
      this.#options.log.warn('the registration stays until its lease ends', {
        reason: messageOf(error),
      })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  get #ttlSeconds(): number {
    return this.#options.ttlSeconds ?? NODE_TTL_SECONDS
  }

  /** Looks after the registration whenever something has happened to it. */
  async #keep(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#closing
    while (!signal.aborted && !this.#ended.signal.aborted) {
      await this.#disturbed.promise
      this.#disturbed = Promise.withResolvers()
      if (signal.aborted) return
      try {
        await this.#reconcile()
      } catch (error) {
        if (signal.aborted || this.#ended.signal.aborted) return
        log.warn('the registration of this node is not settled', { reason: messageOf(error) })
        await clock.sleep(RETRY_MS, signal).catch(() => undefined) // closed
        this.#disturbed.resolve()
      }
    }
  }

  #watchKey(): Promise<void> {
    const { coordination, clock } = this.#options
    const key = liveKey(this.nodeId)
    const disturb = (): void => this.#disturbed.resolve()
    const sink = {
      changed: (change: { readonly key: string }) => {
        if (change.key === key) disturb()
      },
      listed: disturb,
      failed: disturb,
    }
    const following = { coordination, prefixes: [key], clock, sink }
    return followEntries(following, AbortSignal.any([this.#closing.signal, this.#ended.signal]))
  }

  /** Makes the registration what it should be, after those that began before. */
  #reconcile(): Promise<void> {
    const done = this.#tail.then(() => this.#reconcileNow())
    this.#tail = done.catch(() => undefined) // the caller gets the error
    return done
  }

  async #reconcileNow(): Promise<void> {
    const { signal } = this.#closing
    signal.throwIfAborted()
    this.#ended.signal.throwIfAborted()
    const wasRegistered = this.state === 'registered'
    try {
      if (wasRegistered && (await this.#registrar.isRegistered(this.#said))) return
      await this.#register(0, signal)
    } catch (error) {
      if (isServiceError(error) && error.code === 'CONFLICT') this.#end(error)
      this.#disturbed.resolve() // so that it is tried again
      throw error
    }
    if (wasRegistered) return
    this.#options.log.info('this node is registered again', { incarnation: this.incarnation })
  }

  async #register(waitMs: number, signal: AbortSignal): Promise<void> {
    const lease = await this.#heldLease()
    try {
      await this.#registrar.register({ lease, ...this.#said, waitMs, signal })
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'NOT_FOUND') throw error
      this.#lease = undefined
      const problem = 'the lease of this node ended before its registration was stored'
      throw new ServiceError('UNAVAILABLE', problem, { cause: error })
    }
    this.#isRegistered = true
  }

  get #said() {
    return { isLeaving: this.#isLeaving, unreached: this.#unreached }
  }

  /** The lease, or a new one if that is lost. */
  async #heldLease(): Promise<Lease> {
    if (this.#lease?.isHeld() === true) return this.#lease
    this.#isRegistered = false
    const lease = await this.#options.coordination.grantLease(this.#ttlSeconds)
    lease.lost.addEventListener('abort', () => this.#disturbed.resolve(), { once: true })
    this.#lease = lease
    return lease
  }

  #end(error: ServiceError): void {
    this.#options.log.error('another process has taken the place of this node', {
      reason: error.message,
    })
    this.#ended.abort(error)
    this.#disturbed.resolve()
  }
}
