/** The nearest rows measured so far, `capacity` at most: a heap with the farthest on top. Distances are integers. */
export class NearestRows {
  readonly #distances: Float32Array
  readonly #rows: Uint32Array
  #count = 0

  constructor(capacity: number) {
    this.#distances = new Float32Array(capacity)
    this.#rows = new Uint32Array(capacity)
  }

  get count(): number {
    return this.#count
  }

  get isFull(): boolean {
    return this.#count === this.#rows.length
  }

  /** False if `capacity` rows are at least as near. Each row is offered once. */
  offer(row: number, distance: number): boolean {
    if (!this.isFull) {
      this.#rise(row, distance)
      return true
    }
    if (!(distance < (this.#distances[0] ?? 0))) return false
    this.#sink(row, distance)
    return true
  }

  /** The nearest first. */
  sorted(): Uint32Array {
    const count = this.#count
    // One number for a distance and a place is sorted without a comparison in our code.
    const keys = new Float64Array(count)
    for (let at = 0; at < count; at += 1) keys[at] = (this.#distances[at] ?? 0) * count + at
    keys.sort()
    const rows = new Uint32Array(count)
    for (let i = 0; i < count; i += 1) {
      const key = keys[i] ?? 0
      rows[i] = this.#rows[key - Math.floor(key / count) * count] ?? 0
    }
    return rows
  }

  #rise(row: number, distance: number): void {
    let at = this.#count
    this.#count += 1
    while (at > 0) {
      const parent = (at - 1) >>> 1
      const above = this.#distances[parent] ?? 0
      if (above >= distance) break
      this.#place(at, this.#rows[parent] ?? 0, above)
      at = parent
    }
    this.#place(at, row, distance)
  }

  #sink(row: number, distance: number): void {
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= this.#count) break
      const right = this.#distances[child + 1] ?? -Infinity
      if (child + 1 < this.#count && right > (this.#distances[child] ?? 0)) child += 1
      const below = this.#distances[child] ?? 0
      if (below <= distance) break
      this.#place(at, this.#rows[child] ?? 0, below)
      at = child
    }
    this.#place(at, row, distance)
  }

  #place(at: number, row: number, distance: number): void {
    this.#rows[at] = row
    this.#distances[at] = distance
  }
}
