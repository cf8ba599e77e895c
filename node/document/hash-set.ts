// A set of 32-bit hashes in which every step is short. A large set consists of many small tables,
// and each of them grows by itself.
//
// The set may err in one direction: `has` may answer true for a hash that was never added. This
// happens only if somebody chose the hashes so that they crowd one place; it keeps the search for a
// slot short.

const FEW_MAX = 1024
const TABLES = 512
const FIRST_SLOTS = 16
const PROBES_MAX = 64
/** Marks an empty slot. `#hasZero` tells whether the set holds the hash 0 itself. */
const EMPTY = 0
const NO_SLOT = -1

interface Table {
  slots: Int32Array
  count: number
}

/**
 * A set of 32-bit hashes. It may report a hash that was never added, and never misses one that was.
 */
export class HashSet {
  /** All hashes of a small set. */
  readonly #few = new Set<number>()
  #tables: (Table | undefined)[] | undefined
  #hasZero = false
  #isCrowded = false

  /** False means that the hash was never added. */
  has(hash: number): boolean {
    if (this.#tables === undefined) return this.#few.has(hash)
    if (hash === EMPTY) return this.#hasZero
    if (this.#isCrowded) return true
    const { slots } = tableOf(this.#tables, hash)
    const slot = slotOf(slots, hash)
    return slot === NO_SLOT || slots[slot] === hash
  }

  /** True means that the hash had not been added before. */
  add(hash: number): boolean {
    if (this.has(hash)) return false
    if (this.#tables !== undefined) {
      this.#addTo(this.#tables, hash)
    } else if (this.#few.size < FEW_MAX) {
      this.#few.add(hash)
    } else {
      const tables = Array.from({ length: TABLES }, () => undefined)
      this.#tables = tables
      for (const one of [...this.#few, hash]) this.#addTo(tables, one)
      this.#few.clear()
    }
    return true
  }

  #addTo(tables: (Table | undefined)[], hash: number): void {
    if (hash === EMPTY) {
      this.#hasZero = true
      return
    }
    const table = tableOf(tables, hash)
    this.#place(table, hash)
    if (++table.count * 2 > table.slots.length) this.#grow(table)
  }

  #grow(table: Table): void {
    const { slots } = table
    table.slots = new Int32Array(2 * slots.length)
    for (const hash of slots) if (hash !== EMPTY) this.#place(table, hash)
  }

  #place({ slots }: Table, hash: number): void {
    const slot = slotOf(slots, hash)
    if (slot === NO_SLOT) this.#isCrowded = true
    else slots[slot] = hash
  }
}

function tableOf(tables: (Table | undefined)[], hash: number): Table {
  const index = mixed(hash) >>> 23
  const known = tables[index]
  if (known !== undefined) return known
  const table = { slots: new Int32Array(FIRST_SLOTS), count: 0 }
  tables[index] = table
  return table
}

/**
 * The slot that holds the hash, or the empty slot where it belongs. NO_SLOT if the place is
 * crowded.
 */
function slotOf(slots: Int32Array, hash: number): number {
  const mask = slots.length - 1
  let slot = mixed(hash) & mask
  for (let probe = 0; probe < PROBES_MAX; probe++) {
    const found = slots[slot]
    if (found === EMPTY || found === hash) return slot
    slot = (slot + 1) & mask
  }
  return NO_SLOT
}

/** Spreads hashes that differ in few bits, such as the hashes of numbered names. */
function mixed(hash: number): number {
  const spread = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return spread ^ (spread >>> 15)
}
