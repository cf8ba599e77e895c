// The sources of one index that wait for a call.

import type { DenseArtifact } from '../embedding/artifact.ts'
import type { Ending } from './ending.ts'
import type { Enrichment, Source } from './enrichment.ts'
import type { AwayPart } from './prepare/away-error.ts'
import { goesAlone, type Tries } from './tries.ts'

/** What became of one source. */
export type LineAnswer =
  | { readonly kind: 'made'; readonly artifact: DenseArtifact }
  /** The source is at fault: the same source fails again. */
  | { readonly kind: 'refused'; readonly attempts: number; readonly message: string }
  /** What the source needs besides the embedder does not answer now. */
  | { readonly kind: 'away'; readonly part: AwayPart; readonly message: string }
  /** The models were not reached in any attempt. */
  | { readonly kind: 'unreachable'; readonly attempts: number; readonly message: string }
  /** The models are in trouble, and others try. */
  | { readonly kind: 'later'; readonly tries: Tries }

/** A source that needs an artifact. */
export interface Order {
  readonly source: Source
  readonly tries: Tries
  /** Over when the caller who waits for it has left. */
  readonly ending: Ending
}

/** An order in the queue or in a call. */
export interface QueuedOrder {
  readonly source: Source
  tries: Tries
  readonly ending: Ending
  /** Monotonic time of its arrival. */
  readonly sinceMs: number
  readonly answer: (answer: LineAnswer) => void
  /** Nobody answers it any more. */
  readonly fail: (reason: unknown) => void
}

/** A run of orders for one call, and whether more would not fit. */
interface Batch {
  readonly count: number
  readonly isFull: boolean
}

/** Orders, first come first served. */
export class OrderQueue {
  readonly #limits: Enrichment['batch']
  #orders: QueuedOrder[] = []

  constructor(limits: Enrichment['batch']) {
    this.#limits = limits
  }

  get size(): number {
    return this.#orders.length
  }

  /** Monotonic time since which the first order waits. */
  get sinceMs(): number | undefined {
    return this.#orders[0]?.sinceMs
  }

  add(order: QueuedOrder): void {
    this.#orders.push(order)
  }

  remove(order: QueuedOrder): void {
    this.#orders = this.#orders.filter((one) => one !== order)
  }

  /** The orders of the next call, if they fill it or `isDue`. One that goes alone always does. */
  take(isDue: boolean): readonly QueuedOrder[] | undefined {
    const { count, isFull } = this.#batch()
    return count > 0 && (isFull || isDue) ? this.#orders.splice(0, count) : undefined
  }

  /** Takes out all but the first orders. */
  takeBehind(count: number): readonly QueuedOrder[] {
    return this.#orders.splice(count)
  }

  #batch(): Batch {
    const { items, bytes } = this.#limits
    let sum = 0
    let count = 0
    for (const { source, tries } of this.#orders) {
      if (goesAlone(tries)) return { count: Math.max(1, count), isFull: true }
      sum += source.bytes
      if (count === items || (count > 0 && sum > bytes)) return { count, isFull: true }
      count += 1
    }
    return { count, isFull: count === items }
  }
}
