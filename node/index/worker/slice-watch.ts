// Measures the slices of a worker: by the clock, of CPU time, and without collections of garbage.

import { CollectionWatch, type ObserveCollections } from '../../../lib/collection-watch.ts'
import type { Clock } from '../../../lib/clock.ts'
import { SliceHistogram, type SliceReport } from '../host/slice-histogram.ts'

/** In shorter slices collections are not told from work. */
const TELLING_MS = 1

/** By which clocks slices are measured. */
export interface SliceWatchOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** CPU time of this thread so far. */
  readonly cpuMs: () => number
  /** Default: of this thread. */
  readonly observeCollections?: ObserveCollections
}

/** Measures the slices of this thread, one at a time. */
export class SliceWatch {
  readonly #with: SliceWatchOptions
  readonly #slices = new SliceHistogram()
  readonly #collections: CollectionWatch
  #beganMs = 0
  #beganCpuMs = 0

  constructor(options: SliceWatchOptions) {
    const { observeCollections: observe } = options
    const onCollection = (ms: number): void => this.#slices.addCollection(ms)
    this.#with = options
    this.#collections = CollectionWatch.start({
      ...(observe === undefined ? {} : { observe }),
      onCollection,
    })
  }

  begin(): void {
    this.#beganMs = this.#with.clock.monotonicMs()
    this.#beganCpuMs = this.#with.cpuMs()
  }

  /** Ends the slice that began last. */
  end(operation: string): void {
    const beganMs = this.#beganMs
    const endedMs = this.#with.clock.monotonicMs()
    const ms = endedMs - beganMs
    const cpuMs = this.#with.cpuMs() - this.#beganCpuMs
    if (cpuMs <= TELLING_MS) {
      this.#slices.add({ operation, ms, cpuMs, workMs: cpuMs })
      return
    }
    this.#collections.whenKnown(() => {
      const workMs = Math.max(0, cpuMs - this.#collections.msWithin(beganMs, endedMs))
      this.#slices.add({ operation, ms, cpuMs, workMs })
    })
  }

  /** Reports all slices that ended before. */
  report(): Promise<SliceReport> {
    return new Promise((resolve) => {
      this.#collections.whenKnown(() => resolve(this.#slices.report()))
    })
  }
}
