// Collections of garbage that a test makes up. They become known when the watch asks for them, as those
// of a thread do that ended in the turn before.

import type { Collection, ObserveCollections } from '../../../lib/collection-watch.ts'

/** Garbage collections that a test reports by hand. */
export class ManualCollections {
  readonly #untold: Collection[] = []
  isStopped = false

  readonly observe: ObserveCollections = (note) => ({
    flush: () => this.#untold.splice(0).forEach(note),
    stop: () => {
      this.isStopped = true
    },
  })

  add(collection: Collection): void {
    this.#untold.push(collection)
  }
}
