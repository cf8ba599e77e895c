/** The nearest rows measured so far, at most so many: a heap with the farthest on top. */
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

  /** False if there are as many that are as near. Each row is offered once. */
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
    const order = Array.from({ length: this.#count }, (_, at) => at)
    order.sort((a, b) => (this.#distances[a] ?? 0) - (this.#distances[b] ?? 0))
    return Uint32Array.from(order, (at) => this.#rows[at] ?? 0)
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
