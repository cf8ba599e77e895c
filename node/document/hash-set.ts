// A set of 32-bit hashes in which no single step is long: once there are many, they lie in many
// small tables, each of which grows by itself.
//
// It may err, to one side alone: a hash that was never added may seem to be there. That happens when
// somebody has chosen the hashes to crowd one place, and keeps the search for a place short.

const FEW_MAX = 1024
const TABLES = 512
const FIRST_SLOTS = 16
const PROBES_MAX = 64
/** Marks an empty slot; whether the hash of this value is there is kept aside. */
const EMPTY = 0
const NO_SLOT = -1

interface Table {
  slots: Int32Array
  count: number
}

export class HashSet {
  /** All hashes while they are few. */
  readonly #few = new Set<number>()
  #tables: (Table | undefined)[] | undefined
  #hasZero = false
  #isCrowded = false

  /** False only if it was never added. */
  has(hash: number): boolean {
    if (this.#tables === undefined) return this.#few.has(hash)
    if (hash === EMPTY) return this.#hasZero
    if (this.#isCrowded) return true
    const { slots } = tableOf(this.#tables, hash)
    const slot = slotOf(slots, hash)
    return slot === NO_SLOT || slots[slot] === hash
  }

  /** True only if it had not been added before. */
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

/** The slot that holds the hash, or the empty one where it belongs. */
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

/** Spreads hashes that have much in common, such as those of numbered names. */
function mixed(hash: number): number {
  const spread = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b)
  return spread ^ (spread >>> 15)
}
