import { compareTexts } from '../encoding/compare-texts.ts'

/**
 * Walks through several sorted lists together. Each step has the items with the least text, and for
 * each item the number of its list. A list may hold a text several times.
 */
export class TextMerge<Item extends { readonly text: string }> {
  /** The items of the present step. The next step overwrites them. */
  readonly items: Item[] = []
  readonly sources: number[] = []
  readonly #walks: readonly Iterator<Item>[]
  /** The next item of each list; undefined behind the last. */
  readonly #heads: (Item | undefined)[]

  constructor(lists: readonly Iterable<Item>[]) {
    this.#walks = lists.map((list) => list[Symbol.iterator]())
    this.#heads = lists.map((_, source) => this.#take(source))
  }

  /** Moves to the next text; false behind the last. */
  next(): boolean {
    if (this.#heads.length === 1) return this.#nextOfOne()
    this.items.length = 0
    this.sources.length = 0
    const least = this.#least()
    if (least === undefined) return false
    for (let source = 0; source < this.#heads.length; source += 1) {
      for (let head = this.#heads[source]; head?.text === least; head = this.#heads[source]) {
        this.items.push(head)
        this.sources.push(source)
        this.#heads[source] = this.#take(source)
      }
    }
    return true
  }

  /** As `next`, for a single list: its texts need not be compared with others. */
  #nextOfOne(): boolean {
    const [first] = this.#heads
    if (first === undefined) return false
    let count = 0
    let head: Item | undefined = first
    while (head?.text === first.text) {
      this.items[count] = head
      this.sources[count] = 0
      count += 1
      head = this.#take(0)
    }
    this.#heads[0] = head
    this.items.length = count
    this.sources.length = count
    return true
  }

  #least(): string | undefined {
    let least: string | undefined
    for (const head of this.#heads) {
      if (head === undefined) continue
      if (least === undefined || compareTexts(head.text, least) < 0) least = head.text
    }
    return least
  }

  #take(source: number): Item | undefined {
    const step = this.#walks[source]?.next()
    return step === undefined || step.done === true ? undefined : step.value
  }
}
