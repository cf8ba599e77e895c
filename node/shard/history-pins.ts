// Which history the leader of a shard keeps for readers, wherever in the cluster they are.
//
// Invariants:
//   HP1  An answered pin holds: no collection removes what its reader sees before PIN_LEASE_MS have passed.
//   HP2  A leader collects nothing in the first PIN_LEASE_MS that its collection knows of its leadership: readers
//        renew their pins in that time, which the leader before it had.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'

/** A pin ends after this time unless it is renewed, so that a reader that went away holds nothing up for long. */
export const PIN_LEASE_MS = 120_000
/** A node is one reader, however many scans it has. */
const READERS_MAX = 4096

interface Held {
  readonly at: Timestamp
  readonly untilMs: number
}

/** The pins of one shard at the replica that leads it. */
export class HistoryPins {
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()
  /** The horizon of the collection that runs. */
  #collecting: Timestamp | undefined
  /** The leadership that the last collection has seen, and since when. */
  #seen: { readonly epoch: number | undefined; readonly sinceMs: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Replaces what the reader held. False if a collection that runs may remove some of it. */
  pin(reader: string, at: Timestamp): boolean {
    if (this.#collecting !== undefined && at < this.#collecting) return false
    if (!this.#held.has(reader)) this.#makeRoom()
    this.#held.set(reader, { at, untilMs: this.#clock.monotonicMs() + PIN_LEASE_MS })
    return true
  }

  /**
   * Calls `collect` with what may go below `aged`: the oldest pin, or `aged` itself. `epoch` is that of the
   * leadership; undefined if there is one replica, which leads always.
   */
  async collect(
    { aged, epoch }: { readonly aged: Timestamp; readonly epoch: number | undefined },
    collect: (horizon: Timestamp) => Promise<void>,
  ): Promise<void> {
    if (this.#isNew(epoch)) return
    this.#forgetEnded()
    let horizon = aged
    for (const { at } of this.#held.values()) if (at < horizon) horizon = at
    this.#collecting = horizon
    try {
      await collect(horizon)
    } finally {
      this.#collecting = undefined
    }
  }

  #isNew(epoch: number | undefined): boolean {
    if (epoch === undefined) return false
    const nowMs = this.#clock.monotonicMs()
    if (this.#seen?.epoch !== epoch) this.#seen = { epoch, sinceMs: nowMs }
    return nowMs - this.#seen.sinceMs < PIN_LEASE_MS
  }

  #makeRoom(): void {
    if (this.#held.size < READERS_MAX) return
    this.#forgetEnded()
    if (this.#held.size < READERS_MAX) return
    throw new ServiceError('OVERLOADED', `${READERS_MAX} nodes read the past of this shard already`)
  }

  #forgetEnded(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [reader, { untilMs }] of this.#held) {
      if (untilMs <= nowMs) this.#held.delete(reader)
    }
  }
}
