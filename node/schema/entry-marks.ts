const PAGE_ENTRIES = 4096

/** A set of tape entries that grows in short steps. */
export class EntryMarks {
  readonly #pages = new Map<number, Uint8Array>()

  add(entry: number): void {
    const number = Math.floor(entry / PAGE_ENTRIES)
    const page = this.#pages.get(number) ?? new Uint8Array(PAGE_ENTRIES / 8)
    this.#pages.set(number, page)
    const slot = entry % PAGE_ENTRIES
    page[slot >> 3] = (page[slot >> 3] ?? 0) | (1 << (slot & 7))
  }

  has(entry: number): boolean {
    const slot = entry % PAGE_ENTRIES
    const byte = this.#pages.get(Math.floor(entry / PAGE_ENTRIES))?.[slot >> 3] ?? 0
    return (byte & (1 << (slot & 7))) !== 0
  }

  addAll(other: EntryMarks): void {
    for (const [number, page] of other.#pages) {
      const own = this.#pages.get(number)
      if (own === undefined) this.#pages.set(number, page)
      else for (const [index, byte] of page.entries()) own[index] = (own[index] ?? 0) | byte
    }
  }
}
