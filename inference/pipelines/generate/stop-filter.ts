/**
 * Cuts a growing text at the first stop string.
 *
 * Contract:
 * - The answers of `push` and `end`, joined, are the text before the stop string that ends first; of
 *   two that end at one place, before the longer one. The pieces of the text do not matter.
 * - It holds back only text that may be the beginning of a stop string.
 */
export class StopFilter {
  readonly #stops: readonly string[]
  #held = ''
  #isStopped = false

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '')
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  push(text: string): string {
    if (this.#isStopped) return ''
    const pending = this.#held + text
    const found = this.#firstIn(pending)
    if (found !== undefined) {
      this.#isStopped = true
      this.#held = ''
      return pending.slice(0, found)
    }
    const safe =
      pending.length - Math.max(0, ...this.#stops.map((stop) => sharedEnd(pending, stop)))
    this.#held = pending.slice(safe)
    return pending.slice(0, safe)
  }

  end(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }

  /** The start of the stop string that ends first. */
  #firstIn(text: string): number | undefined {
    const [first] = this.#stops
      .map((stop) => ({ start: text.indexOf(stop), length: stop.length }))
      .filter(({ start }) => start >= 0)
      .map(({ start, length }) => ({ start, end: start + length }))
      .toSorted((left, right) => left.end - right.end || left.start - right.start)
    return first?.start
  }
}

/** The number of characters at the end of a text that may be the beginning of a mark. */
export function sharedEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}
