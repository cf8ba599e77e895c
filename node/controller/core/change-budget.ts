/** A bucket of changes: `burst` at once after a quiet time, `perSecond` on average. */
export class ChangeBudget {
  readonly #perSecond: number
  readonly #burst: number
  #available: number
  #atMs: number | undefined

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#available = burst
  }

  /** Fills the bucket up to this time, which never goes back. */
  advance(nowMs: number): void {
    const passedMs = nowMs - (this.#atMs ?? nowMs)
    this.#atMs = nowMs
    this.#available = Math.min(this.#burst, this.#available + (passedMs * this.#perSecond) / 1000)
  }

  get isEmpty(): boolean {
    return this.#available < 1
  }

  take(): void {
    this.#available -= 1
  }
}
