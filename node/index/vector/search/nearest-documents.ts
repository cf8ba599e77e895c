// The nearest documents found so far, each by its nearest row.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DocumentRows } from '../../rows/document-rows.ts'

/** A document by its nearest row, which is a row of the segment. */
export interface NearestCandidate {
  readonly rows: DocumentRows
  readonly doc: number
  readonly row: number
  readonly distance: number
}

/** Which documents may be hits. */
export interface DistanceBounds {
  readonly distanceUnder?: number | undefined
  readonly distanceOver?: number | undefined
}

/** Documents that are taken off the heap in some tenths of a millisecond. */
const DRAINED_PER_STEP = 512

/** Keeps at most `limit` documents, in a heap with the farthest on top. */
export class NearestDocuments {
  readonly #limit: number
  readonly #under: number
  readonly #over: number
  readonly #heap: NearestCandidate[] = []

  constructor(limit: number, { distanceUnder, distanceOver }: DistanceBounds) {
    this.#limit = limit
    this.#under = distanceUnder ?? Infinity
    this.#over = distanceOver ?? -Infinity
  }

  get limit(): number {
    return this.#limit
  }

  /** No document that is farther away is taken any more; Infinity while there is room. */
  get bar(): number {
    return this.#heap.length < this.#limit ? Infinity : (this.#heap[0]?.distance ?? Infinity)
  }

  /** Whether no document is wanted that is farther away. */
  isBeyond(distance: number): boolean {
    return distance > this.#under
  }

  isWithin(distance: number): boolean {
    return distance <= this.#under && distance >= this.#over
  }

  /** Each document is offered once; one outside the bounds is not taken. */
  offer(candidate: NearestCandidate): void {
    if (!this.isWithin(candidate.distance)) return
    const heap = this.#heap
    if (heap.length < this.#limit) {
      heap.push(candidate)
      this.#rise(heap.length - 1)
      return
    }
    const [top] = heap
    if (top === undefined || compare(candidate, top) >= 0) return
    heap[0] = candidate
    this.#sink()
  }

  /** By distance, then by key. Nothing can be offered afterwards. */
  *drain(): Sliced<readonly NearestCandidate[]> {
    const heap = this.#heap
    const sorted: NearestCandidate[] = []
    const meter = new StepMeter(DRAINED_PER_STEP)
    for (let last = heap.pop(); last !== undefined; last = heap.pop()) {
      const [top = last] = heap
      if (heap.length > 0) {
        heap[0] = last
        this.#sink()
      }
      sorted.push(top)
      if (meter.spend(1)) yield
    }
    return sorted.toReversed()
  }

  #rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >>> 1
      if (!this.#isFarther(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #sink(): void {
    const count = this.#heap.length
    for (let at = 0; ;) {
      const [left, right] = [at * 2 + 1, at * 2 + 2]
      let farthest = at
      if (left < count && this.#isFarther(left, farthest)) farthest = left
      if (right < count && this.#isFarther(right, farthest)) farthest = right
      if (farthest === at) return
      this.#swap(at, farthest)
      at = farthest
    }
  }

  #isFarther(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]]
    return a !== undefined && b !== undefined && compare(a, b) > 0
  }

  #swap(one: number, other: number): void {
    const heap = this.#heap
    const [a, b] = [heap[one], heap[other]]
    if (a === undefined || b === undefined) return
    heap[one] = b
    heap[other] = a
  }
}

function compare(a: NearestCandidate, b: NearestCandidate): number {
  return a.distance - b.distance || Buffer.compare(a.rows.keyOf(a.doc), b.rows.keyOf(b.doc))
}
