// Which process of the operator decides.
//
//   following ──the lease is free, or nothing changed for its duration──► leading ──┬─ release ─► released
//       ▲  └──────────────────────────────────────────────────────────┐            └─ not renewed in time,
//       └─ somebody else holds it                                      │                or taken ─► lost
//                                                                      └─ release ─► released
//
// Invariants:
//   LE1  While one process may write, no other may: a leader stops `LEASE_MS - RENEW_WITHIN_MS` before another one begins,
//        provided that their clocks run at about the same rate.
//   LE2  A lease is taken and renewed in the version that was read: of several processes one succeeds.
//   LE3  A lease has expired when this process saw no change of it for its duration, by its own monotonic clock. Times in
//        the lease do not matter.
//   LE4  A renewal counts from the moment before it was sent.
//   LE5  What was lost or released never comes back: the process ends, and its successor has another identity.
//   LE6  A process that stood still knows that its time is over before it writes again, also if the machine slept.
//   LE7  A lease is released only by its holder, after it has stopped writing.

import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import { ApiError } from '../api/api-error.ts'
import type { ObjectRef, StoredObject } from '../api/api-object.ts'
import { apiVersionOf } from '../api/api-object.ts'
import type { KubernetesApi } from '../api/kubernetes-api.ts'
import { leaseRecordOf, leaseWith, microTime } from './lease-record.ts'
import type { LeaseRecord } from './lease-record.ts'

export const LEASE_MS = 15_000
export const RENEW_WITHIN_MS = 10_000
export const RETRY_MS = 2000
/** A fifth of the delay of a retry is random, so that followers do not all ask at once. */
const JITTER = 0.2

/** What a candidate needs. */
export interface ElectionOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly lease: ObjectRef
  /** The name of this start of the process alone: another start is another candidate. */
  readonly identity: string
}

export type ElectionState = 'following' | 'leading' | 'released' | 'lost'

/** A moment by two clocks: the monotonic one, which stops while the machine sleeps, and the wall clock. */
interface Moment {
  readonly monotonicMs: number
  readonly uptimeMs: number
}

/**
 * Contract:
 * - `won` resolves when this process leads for the first time. `lost` resolves with a reason when it has led and does not
 *   any more, without having released. Neither rejects.
 * - `isLeading` is the truth of this very moment; it is asked before each write.
 * - `release` resolves when the lease is free for others, or when the API does not take the release. Nothing of this
 *   process writes after the call.
 */
export class LeaderElection {
  readonly #with: ElectionOptions
  readonly #won = Promise.withResolvers<void>()
  readonly #lost = Promise.withResolvers<string>()
  readonly #stop = new AbortController()
  #state: ElectionState = 'following'
  #renewed: Moment = { monotonicMs: -Infinity, uptimeMs: -Infinity }
  /** What was seen of the lease of others, and since when it has been so. */
  #seen: { readonly version: string; readonly sinceMs: number } | undefined
  #transitions = 0
  #running: Promise<void> = Promise.resolve()

  constructor(options: ElectionOptions) {
    this.#with = options
  }

  get won(): Promise<void> {
    return this.#won.promise
  }

  get lost(): Promise<string> {
    return this.#lost.promise
  }

  get state(): ElectionState {
    if (this.#state === 'leading' && this.#isOverdue()) this.#lose('the lease was not renewed')
    return this.#state
  }

  /** How often the lease has changed hands, as this process saw it last. */
  get transitions(): number {
    return this.#transitions
  }

  isLeading(): boolean {
    return this.state === 'leading'
  }

  start(): void {
    this.#running = this.#run()
  }

  async release(): Promise<void> {
    const wasLeading = this.isLeading()
    if (this.#state !== 'lost') this.#state = 'released'
    this.#stop.abort()
    await this.#running
    if (!wasLeading) return
    try {
      await this.#giveBack()
    } catch (error) {
      this.#with.log.warn('lease was not released', { error: messageOf(error) })
    }
  }

  async #run(): Promise<void> {
    const { clock, random, log } = this.#with
    const { signal } = this.#stop
    while (this.state === 'following' || this.state === 'leading') {
      try {
        await this.#attempt()
      } catch (error) {
        if (!signal.aborted) log.warn('lease was not renewed', { error: messageOf(error) })
      }
      const waitMs = Math.min(RETRY_MS * (1 + JITTER * random()), this.#leftMs())
      await clock.sleep(Math.max(0, waitMs), signal).catch(() => undefined) // stopped
    }
  }

  /** Takes or renews the lease if it is there to be taken. A hanging API is given up when the time is over. */
  async #attempt(): Promise<void> {
    const { clock } = this.#with
    const late = new AbortController()
    const cancel = clock.after(Math.max(0, Math.min(this.#leftMs(), RENEW_WITHIN_MS)), () =>
      late.abort(new Error('the time for a renewal is over')),
    )
    try {
      await this.#tryLease(AbortSignal.any([late.signal, this.#stop.signal]))
    } finally {
      cancel()
    }
  }

  async #tryLease(signal: AbortSignal): Promise<void> {
    const { api, lease, identity } = this.#with
    const found = await api.get(lease, signal)
    const begun = this.#now()
    if (found === undefined) {
      await api.create(lease.kind, this.#newLease(), signal)
      return this.#hold(begun)
    }
    const record = leaseRecordOf(found)
    this.#transitions = record.transitions
    if (record.holder !== identity && this.#state === 'leading') {
      return this.#lose('another process has taken the lease')
    }
    if (record.holder !== identity && !this.#isFree(found, record)) return
    await api.replace(lease.kind, this.#mine(found, record), signal)
    this.#hold(begun)
  }

  /** LE3: nobody holds it, or it has not changed for its duration. */
  #isFree({ metadata }: StoredObject, { holder, durationSeconds }: LeaseRecord): boolean {
    if (holder === '') return true
    const nowMs = this.#with.clock.monotonicMs()
    if (this.#seen?.version !== metadata.resourceVersion) {
      this.#seen = { version: metadata.resourceVersion, sinceMs: nowMs }
    }
    return nowMs - this.#seen.sinceMs >= Math.max(LEASE_MS, durationSeconds * 1000)
  }

  #hold(begun: Moment): void {
    if (this.#state !== 'following' && this.#state !== 'leading') return
    this.#renewed = begun
    if (this.#state === 'leading') return
    this.#state = 'leading'
    this.#with.log.info('leading', { identity: this.#with.identity })
    this.#won.resolve()
  }

  #lose(reason: string): void {
    this.#state = 'lost'
    this.#with.log.error('leadership lost', { reason })
    this.#stop.abort()
    this.#lost.resolve(reason)
  }

  async #giveBack(): Promise<void> {
    const { api, lease, identity } = this.#with
    const { signal } = new AbortController()
    const found = await api.get(lease, signal)
    if (found === undefined) return
    const record = leaseRecordOf(found)
    if (record.holder !== identity) return
    const free = { ...record, holder: '', durationSeconds: 1, renewTime: this.#wallTime() }
    try {
      await api.replace(lease.kind, leaseWith(found, free), signal)
    } catch (error) {
      // A conflict: another candidate already took the released lease, as it should.
      if (!(error instanceof ApiError && error.status === 409)) throw error
    }
  }

  #newLease() {
    const { lease, identity } = this.#with
    const { name, namespace, kind } = lease
    const time = this.#wallTime()
    const empty = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace } }
    return leaseWith(empty, {
      holder: identity,
      durationSeconds: LEASE_MS / 1000,
      transitions: 0,
      acquireTime: time,
      renewTime: time,
    })
  }

  #mine(found: StoredObject, record: LeaseRecord): StoredObject {
    const { identity } = this.#with
    const time = this.#wallTime()
    const isMine = record.holder === identity
    return leaseWith(found, {
      holder: identity,
      durationSeconds: LEASE_MS / 1000,
      transitions: record.transitions + (isMine ? 0 : 1),
      acquireTime: isMine ? record.acquireTime : time,
      renewTime: time,
    })
  }

  /** How long this process may still write without a renewal; endless while it follows. */
  #leftMs(): number {
    if (this.#state !== 'leading') return Infinity
    const now = this.#now()
    const passedMs = Math.max(
      now.monotonicMs - this.#renewed.monotonicMs,
      now.uptimeMs - this.#renewed.uptimeMs,
    )
    return RENEW_WITHIN_MS - passedMs
  }

  #isOverdue(): boolean {
    return this.#leftMs() <= 0
  }

  #now(): Moment {
    const { clock } = this.#with
    return { monotonicMs: clock.monotonicMs(), uptimeMs: clock.uptimeMs() }
  }

  #wallTime(): string {
    return microTime(this.#with.clock.nowMs())
  }
}
