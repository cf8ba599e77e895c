// The order of writes that contend for keys. A write takes its place at all of its keys at once, and
// begins when it is in front at each of them. So the writers of a hot key follow each other, instead of
// preparing on some shards and being refused by others.
//
// Invariants:
//   CQ1  A place waits only for places that were taken before it: so all waits end.
//   CQ2  At a key places are granted in order of arrival; neighbours of one shared access together.
//   CQ3  No write waits for a place that was left or given up.
//
// The queue only orders the writes of this node. The holds on the shards keep the data correct.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'

/** The limit of claims over all waiting writes. Each costs about 100 bytes of memory. */
export const WAITING_CLAIMS_MAX = 262_144

/**
 * `alone` shares the key with nobody; `read` with other readers, and `instant`, a write that is over as
 * soon as it is applied, with others of its kind.
 */
export type Access = 'alone' | 'read' | 'instant'

/** One key that a write will touch. `name` identifies the key; the queue only compares it. */
export interface Claim {
  readonly name: string
  readonly access: Access
}

/** How long a write waits for its turn. Without a signal only the deadline ends the wait. */
export interface Patience {
  /** Monotonic time. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal | undefined
}

/** Disposing it leaves the place. */
export interface Turn extends Disposable {
  readonly kind: 'turn'
}

/** The deadline came first; the place has been left. */
export interface Late {
  readonly kind: 'late'
  /** The first key at which others were in front. */
  readonly waitedFor: string
}

/** Orders the writes of one node by arrival at each of their keys (CQ1-CQ3). */
export class ContentionQueue {
  readonly #clock: Clock
  readonly #keys = new Map<string, KeyQueue>()
  #waitingClaims = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The claims of all places that wait for their turn. */
  get waitingClaims(): number {
    return this.#waitingClaims
  }

  /**
   * Takes a place at every claimed key, each named once, and answers when its turn has come.
   * Rejects with OVERLOADED when too many wait, and with the signal's reason.
   */
  async enter(claims: readonly Claim[], patience: Patience): Promise<Turn | Late> {
    const place = new Place()
    const leave = (): void => this.#leave(place, claims)
    for (const { name, access } of claims) this.#queueOf(name).join(place, access, name)
    try {
      if (place.missing > 0) await this.#wait(place, claims.length, patience)
    } catch (error) {
      leave()
      throw error
    }
    if (place.missing === 0) return { kind: 'turn', [Symbol.dispose]: leave }
    leave()
    return { kind: 'late', waitedFor: place.waitedFor }
  }

  async #wait(place: Place, claimCount: number, { deadlineMs, signal }: Patience): Promise<void> {
    if (this.#waitingClaims + claimCount > WAITING_CLAIMS_MAX) {
      throw new ServiceError(
        'OVERLOADED',
        'too many writes wait for the same keys; try again later',
      )
    }
    const over = new AbortController()
    const limit = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
    const leftMs = Math.max(0, deadlineMs - this.#clock.monotonicMs())
    const timeout = this.#clock.sleep(leftMs, limit).catch((reason: unknown) => {
      if (signal?.aborted === true) throw reason
    })
    this.#waitingClaims += claimCount
    try {
      await Promise.race([place.granted.promise, timeout])
    } finally {
      over.abort()
      this.#waitingClaims -= claimCount
    }
  }

  #queueOf(name: string): KeyQueue {
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const queue = new KeyQueue()
    this.#keys.set(name, queue)
    return queue
  }

  #leave(place: Place, claims: readonly Claim[]): void {
    for (const { name } of claims) {
      const queue = this.#keys.get(name)
      queue?.leave(place)
      if (queue?.isEmpty() === true) this.#keys.delete(name)
    }
  }
}

class Place {
  readonly granted = Promise.withResolvers<void>()
  /** The number of keys at which others are still in front. */
  missing = 0
  /** The first of them; empty if there was none. */
  waitedFor = ''
}

class KeyQueue {
  readonly #inFront = new Set<Place>()
  readonly #behind = new Map<Place, Access>()
  #access: Access = 'alone'

  join(place: Place, access: Access, name: string): void {
    if (this.#behind.size === 0 && this.#mayJoinFront(access)) {
      this.#access = access
      this.#inFront.add(place)
      return
    }
    this.#behind.set(place, access)
    if (place.missing === 0) place.waitedFor = name
    place.missing++
  }

  leave(place: Place): void {
    this.#inFront.delete(place)
    this.#behind.delete(place)
    for (const [next, access] of this.#behind) {
      if (!this.#mayJoinFront(access)) return
      this.#behind.delete(next)
      this.#access = access
      this.#inFront.add(next)
      next.missing--
      if (next.missing === 0) next.granted.resolve()
    }
  }

  isEmpty(): boolean {
    return this.#inFront.size === 0 && this.#behind.size === 0
  }

  #mayJoinFront(access: Access): boolean {
    return this.#inFront.size === 0 || (access === this.#access && access !== 'alone')
  }
}
