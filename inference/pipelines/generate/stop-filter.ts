/**
 * Watches a growing text for strings that end it.
 *
 * Contract:
 * - What `push` and `end` answer, joined, is the text before the stop string that is complete first;
 *   of two that end at one place, the longer one. It does not depend on how the text is cut.
 * - Nothing is held back but what may be the beginning of a stop string.
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

  /** Where the stop string begins that ends first. */
  #firstIn(text: string): number | undefined {
    const [first] = this.#stops
      .map((stop) => ({ start: text.indexOf(stop), length: stop.length }))
      .filter(({ start }) => start >= 0)
      .map(({ start, length }) => ({ start, end: start + length }))
      .toSorted((left, right) => left.end - right.end || left.start - right.start)
    return first?.start
  }
}

/** How many characters at the end of a text may be the beginning of a mark. */
export function sharedEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}
