// The control plane of a simulated cluster: the embedded store behind ways that are slow, cut, or lose
// answers, and with leases that end when nobody renews them.

import { ServiceError } from '../../../../lib/errors.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import type {
  Commit,
  CommitOutcome,
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
  CoordinationListing,
} from '../../../../node/coordination/coordination.ts'
import type { Lease } from '../../../../node/coordination/lease.ts'
import type { KvSnapshot } from '../../../../node/storage/kv-store.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import type { Dice } from '../dice.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { NodeClock } from './node-clock.ts'

/** No call of the interface waits for longer. */
const DEADLINE_MS = 2000
/** The part of a lease's life that its owner counts on. */
const COUNTED_PART = 0.8
const RENEWALS = 3

/** Earlier states of the store that are kept. */
const STATES_MAX = 12

/** What all nodes share. */
export class SimulatedPlane {
  readonly time: VirtualTime
  #kept: MemoryKvStore
  #store: EmbeddedCoordination
  readonly #states: KvSnapshot[] = []
  /** The leases that the store has granted, and not ended. */
  readonly leases = new Set<Lease>()
  readonly #cut = new Set<string>()
  /** Nobody reaches it. */
  isAway = false
  /** The share of commits that lose their answers. */
  lostAnswerRatio = 0
  /** How much earlier or later than they should leases end, at most. */
  leaseErrorMs = 0
  /** How long events take. */
  eventDelayMs: readonly [number, number] = [0.2, 5]
  /** The share of events that end a watch as if the past was gone. */
  compactedRatio = 0
  revisions = 0

  constructor(time: VirtualTime) {
    this.time = time
    this.#kept = new MemoryKvStore()
    this.#store = new EmbeddedCoordination(this.#kept, new NodeClock(time, {}))
  }

  get store(): EmbeddedCoordination {
    return this.#store
  }

  /** Keeps what a backup would have now. */
  remember(): void {
    this.#states.push(this.#kept.snapshot())
    if (this.#states.length > STATES_MAX) this.#states.shift()
  }

  /** The store becomes what it was at an earlier moment, without the leases of then. Its clients lose their watches. */
  async goBack(dice: Dice): Promise<void> {
    const state = dice.pick(this.#states)
    if (state === undefined) return
    this.isAway = true
    const kept = await copyOf(state)
    const old = this.#store
    this.#kept = kept
    this.#store = new EmbeddedCoordination(kept, new NodeClock(this.time, {}))
    // Those of a history that did not come to be.
    this.#states.length = 0
    await Promise.all([...this.leases].map((lease) => lease.revoke()))
    this.leases.clear()
    await old.close()
    this.isAway = false
  }

  cut(node: string): void {
    this.#cut.add(node)
  }

  join(node: string): void {
    this.#cut.delete(node)
  }

  heal(): void {
    this.#cut.clear()
    this.isAway = false
    this.lostAnswerRatio = 0
    this.leaseErrorMs = 0
    this.compactedRatio = 0
    this.eventDelayMs = [0.2, 5]
  }

  isReached(node: string): boolean {
    return !this.isAway && !this.#cut.has(node)
  }
}

/** A store with what the snapshot shows. */
export async function copyOf(snapshot: KvSnapshot): Promise<MemoryKvStore> {
  const copy = new MemoryKvStore()
  for await (const page of snapshot.pages({})) {
    const ops = page.map(([key, value]) => ({ type: 'put', key, value }) as const)
    await copy.write(ops, { sync: true })
  }
  return copy
}

/** One life's way to the control plane. */
export class PlaneWay implements Coordination {
  readonly scope = 'cluster'
  readonly #plane: SimulatedPlane
  readonly #node: string
  readonly #clock: NodeClock
  /** Commits that have not taken effect yet: a later one is answered after them. */
  #late: Promise<unknown> = Promise.resolve()

  constructor(plane: SimulatedPlane, node: string, clock: NodeClock) {
    this.#plane = plane
    this.#node = node
    this.#clock = clock
  }

  get(key: string): Promise<CoordinationEntry | undefined> {
    return this.#ask(() => this.#plane.store.get(key))
  }

  list(prefix: string): Promise<CoordinationListing> {
    return this.#ask(() => this.#plane.store.list(prefix))
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    await this.#late
    const { time, store, lostAnswerRatio } = this.#plane
    if (time.chance(lostAnswerRatio)) {
      this.#late = this.#travel(time.between(0, 800)).then(() =>
        store.commit(commit).catch(() => undefined),
      )
      await this.#clock.sleep(time.between(5, DEADLINE_MS))
      throw away('the answer was lost')
    }
    return this.#ask(async () => {
      const outcome = await store.commit(commit)
      if (outcome.kind === 'committed') this.#plane.revisions += 1
      return outcome
    })
  }

  async *watch(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<CoordinationEvent, void> {
    const { time, store } = this.#plane
    for await (const event of store.watch(prefix, fromRevision, signal)) {
      const [least, most] = this.#plane.eventDelayMs
      await this.#travel(time.between(least, most))
      while (!this.#plane.isReached(this.#node)) {
        await this.#travel(50)
        if (signal.aborted) return
      }
      await new Promise<void>((resolve) => this.#clock.whenAwake(resolve))
      if (signal.aborted) return
      if (time.chance(this.#plane.compactedRatio)) {
        yield { kind: 'compacted' }
        return
      }
      yield event
    }
  }

  async grantLease(ttlSeconds: number): Promise<Lease> {
    const clock = this.#clock
    const sentMs = clock.monotonicMs()
    const stored = await this.#ask(() => this.#plane.store.grantLease(ttlSeconds))
    this.#plane.leases.add(stored)
    stored.lost.addEventListener('abort', () => this.#plane.leases.delete(stored))
    const lease = new WatchedLease(this.#plane, stored, { clock, node: this.#node, sentMs })
    lease.keep()
    return lease
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  async #ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    await this.#travel(this.#plane.time.between(0.2, 4))
    if (!this.#plane.isReached(this.#node)) {
      await this.#clock.sleep(DEADLINE_MS)
      throw away('the control plane does not answer')
    }
    const answer = await call()
    await this.#clock.sleep(this.#plane.time.between(0.2, 4))
    return answer
  }

  /** Time of the world, not of the process. */
  #travel(ms: number): Promise<void> {
    return new Promise((resolve) => this.#plane.time.after(ms, resolve))
  }
}

interface LeaseOwner {
  readonly clock: NodeClock
  readonly node: string
  readonly sentMs: number
}

/** A lease of the store that ends without renewals, as etcd's do. */
class WatchedLease implements Lease {
  readonly #plane: SimulatedPlane
  readonly #stored: Lease
  readonly #owner: LeaseOwner
  readonly #lost = new AbortController()
  #heldUntilMs: number
  /** When the store ends it, in the time of the world. */
  #endsMs: number

  constructor(plane: SimulatedPlane, stored: Lease, owner: LeaseOwner) {
    this.#plane = plane
    this.#stored = stored
    this.#owner = owner
    this.#heldUntilMs = owner.sentMs + COUNTED_PART * this.#ttlMs
    this.#endsMs = plane.time.nowMs + this.#ttlMs
  }

  get id(): Lease['id'] {
    return this.#stored.id
  }

  get ttlSeconds(): number {
    return this.#stored.ttlSeconds
  }

  get heldUntilMs(): number {
    return this.#heldUntilMs
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  get #ttlMs(): number {
    return this.#stored.ttlSeconds * 1000
  }

  isHeld(): boolean {
    return !this.#lost.signal.aborted && this.#owner.clock.monotonicMs() < this.#heldUntilMs
  }

  async revoke(): Promise<void> {
    if (!this.#plane.isReached(this.#owner.node)) throw away('the control plane does not answer')
    this.#lose('it was revoked')
    await this.#stored.revoke()
  }

  /** Renewals by the owner, the end by the store. */
  keep(): void {
    this.#renew()
    this.#watch()
  }

  #renew(): void {
    const { clock, node } = this.#owner
    clock.after(this.#ttlMs / RENEWALS, () => {
      if (this.#lost.signal.aborted) return
      const sentMs = clock.monotonicMs()
      const { time, leaseErrorMs } = this.#plane
      time.after(time.between(0.2, 4), () => {
        if (!this.#plane.isReached(node) || this.#stored.lost.aborted) return
        this.#endsMs = time.nowMs + this.#ttlMs + time.between(-leaseErrorMs, leaseErrorMs)
        clock.whenAwake(() => {
          if (clock.monotonicMs() >= this.#heldUntilMs) return
          this.#heldUntilMs = sentMs + COUNTED_PART * this.#ttlMs
        })
      })
      if (!this.isHeld()) this.#lose('it was not renewed in time')
      else this.#renew()
    })
  }

  #watch(): void {
    const { time } = this.#plane
    time.after(Math.max(50, this.#endsMs - time.nowMs), () => {
      if (this.#stored.lost.aborted) return this.#owner.clock.whenAwake(() => this.#lose('gone'))
      if (time.nowMs < this.#endsMs || this.#plane.isAway) return this.#watch()
      void this.#stored.revoke()
      this.#owner.clock.whenAwake(() => this.#lose('the store ended it'))
    })
  }

  #lose(reason: string): void {
    this.#lost.abort(new ServiceError('UNAVAILABLE', `the lease is lost: ${reason}`))
  }
}

function away(message: string): ServiceError {
  return new ServiceError('UNAVAILABLE', message)
}
