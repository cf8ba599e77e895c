import { assert } from '../../../lib/assert.ts'

/** One connection that has not proved who it is. */
export interface Stranger {
  /** The address of the other end, without its port. */
  readonly address: string
  /** Closes the connection. */
  readonly evict: () => void
}

/**
 * Connections before their proof, a bounded number of them.
 *
 * Contract:
 * - `add` beyond `max` evicts one: of those that do not know the names of the cluster and the node, while there are any;
 *   of the address that has most of these; its oldest. So a flood from one address evicts its own
 *   connections, and a flood from many addresses evicts none of a caller that knows the names.
 * - `promote` says that the stranger knows the names. `delete` forgets it.
 */
export class Strangers {
  readonly #max: number
  /** Oldest first. */
  readonly #unnamed = new Set<Stranger>()
  readonly #named = new Set<Stranger>()

  constructor(max: number) {
    assert(max > 0, 'room for a stranger')
    this.#max = max
  }

  add(stranger: Stranger): void {
    if (this.#unnamed.size + this.#named.size >= this.#max) this.#evictOne()
    this.#unnamed.add(stranger)
  }

  promote(stranger: Stranger): void {
    if (this.#unnamed.delete(stranger)) this.#named.add(stranger)
  }

  delete(stranger: Stranger): void {
    this.#unnamed.delete(stranger)
    this.#named.delete(stranger)
  }

  evictAll(): void {
    for (const stranger of [...this.#unnamed, ...this.#named]) this.#evict(stranger)
  }

  #evictOne(): void {
    const crowd = this.#unnamed.size > 0 ? this.#unnamed : this.#named
    const counts = new Map<string, number>()
    for (const { address } of crowd) counts.set(address, (counts.get(address) ?? 0) + 1)
    const most = Math.max(...counts.values())
    for (const stranger of crowd) {
      if (counts.get(stranger.address) === most) return this.#evict(stranger)
    }
  }

  #evict(stranger: Stranger): void {
    this.delete(stranger)
    stranger.evict()
  }
}

/** The part of `127.0.0.1:4100` before its port. */
export function addressOf(remote: string): string {
  return remote.replace(/:\d+$/, '')
}
