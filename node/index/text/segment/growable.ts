// Typed arrays that grow at the end, for what the memory segment gathers document by document.

export class GrowableUint32 {
  values = new Uint32Array(64)
  length = 0

  push(value: number): void {
    this.reserve(1)
    this.values[this.length] = value
    this.length += 1
  }

  /** Makes room for `count` more values behind `length`. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.values.length) return
    const larger = new Uint32Array(Math.max(needed, this.values.length * 2))
    larger.set(this.values)
    this.values = larger
  }
}

export class GrowableFloat64 {
  values = new Float64Array(64)
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
