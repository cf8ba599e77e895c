// Which part of a thread's time went into collecting garbage.
//
// A collection stops the thread wherever it is, and takes as long as there is living memory to trace:
// it is no work of whoever it interrupts. Node tells of it behind the turn of the event loop that it
// was in, so a span of time is looked at in the next turn:
//
//   span ends ──► turn ends ──► node notes the turn's collections ──► `whenKnown` calls ──► `msWithin`
//
// Invariants:
//   CW1  Whoever is called by `whenKnown` finds all collections that ended before it asked.
//   CW2  No moment counts twice, though two collections be told of it.

import { PerformanceObserver } from 'node:perf_hooks'

/** More than there are in one turn; what is older is forgotten. */
const KEPT_MAX = 256

/** In milliseconds of `performance.now`, which is the time of the system's clock. */
export interface Collection {
  readonly startTime: number
  readonly duration: number
}

/** Those of a thread, as they become known. */
export interface Collections {
  /** Tells at once what is known and was not told. */
  flush(): void
  stop(): void
}

export type ObserveCollections = (note: (collection: Collection) => void) => Collections

export interface CollectionWatchOptions {
  /** Default: of this thread. */
  readonly observe?: ObserveCollections
  /** Hears how long each took. */
  readonly onCollection?: (ms: number) => void
}

/** Observes from its start until it is stopped. */
export class CollectionWatch {
  readonly #onCollection: ((ms: number) => void) | undefined
  readonly #collections: Collections
  readonly #beganMs = new Float64Array(KEPT_MAX)
  readonly #endedMs = new Float64Array(KEPT_MAX)
  #count = 0
  #lastEndMs = -Infinity
  #waiting: (() => void)[] = []

  private constructor({ observe = observeThread, onCollection }: CollectionWatchOptions) {
    this.#onCollection = onCollection
    this.#collections = observe((collection) => this.#note(collection))
  }

  static start(options: CollectionWatchOptions = {}): CollectionWatch {
    return new CollectionWatch(options)
  }

  stop(): void {
    this.#collections.stop()
  }

  /** Calls when everything up to now is known: in the next turn, in the order of the questions. */
  whenKnown(call: () => void): void {
    if (this.#waiting.push(call) > 1) return
    setImmediate(() => {
      this.#collections.flush()
      for (const waiting of this.#waiting.splice(0)) waiting()
    })
  }

  /** How long collections took between two moments that are not long past. */
  msWithin(beganMs: number, endedMs: number): number {
    let ms = 0
    const oldest = Math.max(0, this.#count - KEPT_MAX)
    for (let i = this.#count - 1; i >= oldest; i -= 1) {
      const at = i % KEPT_MAX
      const until = this.#endedMs[at] ?? 0
      if (until <= beganMs) break
      const from = this.#beganMs[at] ?? 0
      ms += Math.max(0, Math.min(until, endedMs) - Math.max(from, beganMs))
    }
    return ms
  }

  #note({ startTime, duration }: Collection): void {
    const endMs = startTime + duration
    this.#onCollection?.(duration)
    if (endMs <= this.#lastEndMs) return
    const at = this.#count % KEPT_MAX
    this.#beganMs[at] = Math.max(startTime, this.#lastEndMs)
    this.#endedMs[at] = endMs
    this.#lastEndMs = endMs
    this.#count += 1
  }
}

const observeThread: ObserveCollections = (note) => {
  const noteAll = (collections: readonly Collection[]): void => collections.forEach(note)
  const observer = new PerformanceObserver((list) => noteAll(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  return {
    flush: () => noteAll(observer.takeRecords()),
    stop: () => observer.disconnect(),
  }
}
