// The code units by which a word is looked up, and a hash of them.

/** A longer word is data, and seldom occurs again. */
export const WORD_UNITS_MAX = 48
/** FNV-1a's. */
const HASH_PRIME = 0x0100_0193
const ASCII_END = 0x80
const UPPER_A = 0x41
const UPPER_Z = 0x5a
const LOWER_A = 0x61
const LOWER_Z = 0x7a
const TO_LOWER = 0x20
const FULL_STOP = 0x2e
const LOW_LINE = 0x5f

/**
 * One word of a text. Where case does not matter, a word that cannot have parts (identifier-parts.ts) is in lower
 * case: it is in ASCII, without a full stop and without a low line, and has no small letter before a capital one.
 */
export class WordUnits {
  readonly #units = new Uint16Array(WORD_UNITS_MAX)
  readonly #ignoresCase: boolean
  length = 0
  hash = 0

  constructor(ignoresCase: boolean) {
    this.#ignoresCase = ignoresCase
  }

  /** The word has at most WORD_UNITS_MAX units. */
  read(text: string, start: number, end: number): void {
    this.length = end - start
    if (!this.#ignoresCase || !this.#readSmall(text, start, end)) this.#readAsIs(text, start, end)
  }

  /** Whether the units from `from` are those of the word. */
  isAt(units: Uint16Array, from: number): boolean {
    for (let i = 0; i < this.length; i += 1) {
      if (units[from + i] !== this.#units[i]) return false
    }
    return true
  }

  /** Writes the word to `from`, into a larger array if need be, which is returned. */
  appendTo(units: Uint16Array, from: number): Uint16Array {
    let out = units
    if (from + this.length > units.length) {
      out = new Uint16Array(units.length * 2)
      out.set(units)
    }
    for (let i = 0; i < this.length; i += 1) out[from + i] = this.#units[i] ?? 0
    return out
  }

  #readAsIs(text: string, start: number, end: number): void {
    let hash = end - start
    for (let at = start; at < end; at += 1) {
      const unit = text.charCodeAt(at)
      this.#units[at - start] = unit
      hash = Math.imul(hash ^ unit, HASH_PRIME)
    }
    this.hash = mixed(hash)
  }

  /** False if case may matter. */
  #readSmall(text: string, start: number, end: number): boolean {
    let hash = end - start
    let isBehindSmall = false
    for (let at = start; at < end; at += 1) {
      let unit = text.charCodeAt(at)
      if (unit >= LOWER_A && unit <= LOWER_Z) {
        isBehindSmall = true
      } else {
        const isCapital = unit >= UPPER_A && unit <= UPPER_Z
        if (isCapital ? isBehindSmall : mayDivide(unit)) return false
        if (isCapital) unit += TO_LOWER
        isBehindSmall = false
      }
      this.#units[at - start] = unit
      hash = Math.imul(hash ^ unit, HASH_PRIME)
    }
    this.hash = mixed(hash)
    return true
  }
}

function mayDivide(unit: number): boolean {
  return unit >= ASCII_END || unit === FULL_STOP || unit === LOW_LINE
}

function mixed(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0
}
