// Typed arrays that grow at the end, for what the memory segment gathers document by document.

/** A segment may have many fields with few values each. */
const LENGTH_FIRST = 16

/** Fewer values are copied sooner one by one than by way of a view. */
const COPIED_SINGLY_MAX = 32

/**
 * Unsigned 32-bit numbers that are only added at the end. `values` is longer than `length`: the
 * caller reads the first `length` numbers alone.
 */
export class GrowableUint32 {
  values: Uint32Array
  length = 0
  readonly #allocate: (length: number) => Uint32Array

  /** When it grows, the values move to a new array; the one before keeps what it has. */
  constructor(allocate: (length: number) => Uint32Array = ownUint32) {
    this.#allocate = allocate
    this.values = allocate(LENGTH_FIRST)
  }

  push(value: number): void {
    this.reserve(1)
    this.values[this.length] = value
    this.length += 1
  }

  /** What another array has from `from` to `to`, not included. */
  pushSome(values: Uint32Array, from: number, to: number): void {
    this.reserve(to - from)
    if (to - from < COPIED_SINGLY_MAX) {
      for (let i = from; i < to; i += 1) this.values[this.length + i - from] = values[i] ?? 0
    } else {
      this.values.set(values.subarray(from, to), this.length)
    }
    this.length += to - from
  }

  /** Makes room for `count` more values behind `length`. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.values.length) return
    const larger = this.#allocate(Math.max(needed, this.values.length * 2))
    larger.set(this.values)
    this.values = larger
  }
}

function ownUint32(length: number): Uint32Array {
  return new Uint32Array(length)
}

/** As `GrowableUint32`, of 64-bit floating-point numbers. */
export class GrowableFloat64 {
  values = new Float64Array(LENGTH_FIRST)
  length = 0

  push(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Float64Array(this.values.length * 2)
      larger.set(this.values)
      this.values = larger
    }
    this.values[this.length] = value
    this.length += 1
  }
}

/** As `GrowableUint32`, of signed 32-bit numbers. */
export class GrowableInt32 {
  values = new Int32Array(LENGTH_FIRST)
  length = 0

  push(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Int32Array(this.values.length * 2)
      larger.set(this.values)
      this.values = larger
    }
    this.values[this.length] = value
    this.length += 1
  }
}
