// The newest entries of a log with their bodies, for followers and for the store. Older ones are read from
// the journal.

import type { AppendedEntry } from '../../journal/batch-writer.ts'

/** A leader sends one follower at most 4 MiB that the follower has not acknowledged. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024

/** Keeps the newest entries of a log in memory, up to a number of bytes. */
export class KeptEntries {
  readonly #entries = new Map<number, { readonly entry: AppendedEntry; readonly bytes: number }>()
  #bytes = 0
  /** No entry before it is here. A search for the oldest one in the map would pass over removed ones. */
  #oldest = 0

  add(entry: AppendedEntry): void {
    const bytes = entry.body.reduce((sum, part) => sum + part.length, entry.row.length)
    if (this.#entries.size === 0) this.#oldest = entry.sequence
    this.#entries.set(entry.sequence, { entry, bytes })
    this.#bytes += bytes
    while (this.#bytes > KEPT_BYTES_MAX && this.#entries.size > 1) {
      this.#remove(this.#oldest)
      this.#oldest += 1
    }
  }

  get(sequence: number): AppendedEntry | undefined {
    return this.#entries.get(sequence)?.entry
  }

  /** The entries after `above`, through `through`; undefined if one of them is not in memory. */
  between(above: number, through: number): readonly AppendedEntry[] | undefined {
    const entries: AppendedEntry[] = []
    for (let sequence = above + 1; sequence <= through; sequence++) {
      const entry = this.get(sequence)
      if (entry === undefined) return undefined
      entries.push(entry)
    }
    return entries
  }

  truncateAfter(last: number): void {
    for (const sequence of this.#entries.keys()) if (sequence > last) this.#remove(sequence)
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  #remove(sequence: number): void {
    this.#bytes -= this.#entries.get(sequence)?.bytes ?? 0
    this.#entries.delete(sequence)
  }
}
