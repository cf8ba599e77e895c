// The scans of this node that read the past, and the pins that keep it for them at the leaders of their shards.
//
//   scan begins ──PIN_AFTER_MS──► its shards are pinned, and again every PIN_RENEW_MS ──► it ends, or is PIN_MAX_MS old
//
// Invariants:
//   PN1  What a scan has not read yet is kept by the age of history (HISTORY_RETENTION_MS), or by a pin.
//   PN2  A pin that could not be renewed in time costs a scan HISTORY_GONE from the shard, never rows.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { Shard } from '../shard/shard.ts'

/** A pin ends after this time, so that history kept for a slow reader cannot fill the disk. */
export const PIN_MAX_MS = 3_600_000
/** All history is younger than HISTORY_RETENTION_MS: half of it leaves time to renew a first pin that failed. */
export const PIN_AFTER_MS = 300_000
/** A quarter of PIN_LEASE_MS. */
export const PIN_RENEW_MS = 30_000
/** Nodes are asked side by side, without taking the places of other calls. */
const PINNED_AT_ONCE = 16

type PinnedShard = Pick<Shard, 'id' | 'pinHistory'>

/** What one scan reads. `at` may be set when the first shard tells it. */
export interface ReadPast {
  readonly shards: readonly PinnedShard[]
  at: Timestamp | undefined
}

/** Keeps the history that a scan reads until it is disposed, for at most PIN_MAX_MS. */
export interface ReadPin extends Disposable {
  /** False after PIN_MAX_MS: from then on collection may remove the history that it kept. */
  isHeld(): boolean
}

interface Held {
  readonly past: ReadPast
  readonly sinceMs: number
}

/** The scans of one node, which is one reader to each shard: it pins the oldest time of its scans there. */
export class ReadPins {
  readonly #clock: Clock
  readonly #reader: string
  readonly #held = new Set<Held>()

  /** `reader` is the id of the node. */
  constructor(clock: Clock, reader: string) {
    this.#clock = clock
    this.#reader = reader
  }

  pin(past: ReadPast): ReadPin {
    const held: Held = { past, sinceMs: this.#clock.monotonicMs() }
    this.#held.add(held)
    return {
      isHeld: () => this.#held.has(held) && this.#ageMs(held) <= PIN_MAX_MS,
      [Symbol.dispose]: () => {
        this.#held.delete(held)
      },
    }
  }

  /** To be called every PIN_RENEW_MS. A shard that cannot be asked is asked again then (PN2). */
  async renew(signal: AbortSignal): Promise<void> {
    const wanted = [...this.#oldest()]
    const next = async (): Promise<void> => {
      for (let one = wanted.pop(); one !== undefined && !signal.aborted; one = wanted.pop()) {
        await this.#pinAt(...one, signal)
      }
    }
    await Promise.all(Array.from({ length: PINNED_AT_ONCE }, next))
  }

  async #pinAt(shard: PinnedShard, at: Timestamp, signal: AbortSignal): Promise<void> {
    try {
      await shard.pinHistory({ reader: this.#reader, at }, { signal })
    } catch (error) {
      if (!isServiceError(error) && !signal.aborted) throw error
    }
  }

  /** The oldest time that long scans need of each shard. */
  #oldest(): ReadonlyMap<PinnedShard, Timestamp> {
    const oldest = new Map<PinnedShard, Timestamp>()
    for (const held of this.#held) {
      const { at, shards } = held.past
      const ageMs = this.#ageMs(held)
      if (at === undefined || ageMs < PIN_AFTER_MS || ageMs > PIN_MAX_MS) continue
      for (const shard of shards) {
        const other = oldest.get(shard)
        if (other === undefined || at < other) oldest.set(shard, at)
      }
    }
    return oldest
  }

  #ageMs({ sinceMs }: Held): number {
    return this.#clock.monotonicMs() - sinceMs
  }
}
