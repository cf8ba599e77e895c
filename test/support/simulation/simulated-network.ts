import type { VirtualTime } from './virtual-time.ts'

/** Messages between named places: late, lost, twice, in another order, and not at all over a cut link. */
export class SimulatedNetwork {
  readonly #time: VirtualTime
  readonly #cut = new Set<string>()
  delayMs: readonly [number, number] = [0.1, 2]
  lossRatio = 0
  duplicateRatio = 0

  constructor(time: VirtualTime) {
    this.#time = time
  }

  send(from: string, to: string, deliver: () => void): void {
    if (!this.connects(from, to) || this.#time.chance(this.lossRatio)) return
    this.#later(deliver)
    if (this.#time.chance(this.duplicateRatio)) this.#later(deliver)
  }

  connects(from: string, to: string): boolean {
    return !this.#cut.has(`${from}>${to}`)
  }

  /** One way. */
  cut(from: string, to: string): void {
    this.#cut.add(`${from}>${to}`)
  }

  /** All links are whole, and lose nothing. */
  heal(): void {
    this.#cut.clear()
    this.lossRatio = 0
    this.duplicateRatio = 0
    this.delayMs = [0.1, 2]
  }

  #later(deliver: () => void): void {
    const [least, most] = this.delayMs
    // Most messages are quick, a few very late.
    const delayMs = this.#time.chance(0.05)
      ? this.#time.between(least, most * 20)
      : this.#time.between(least, most)
    this.#time.after(delayMs, deliver)
  }
}
