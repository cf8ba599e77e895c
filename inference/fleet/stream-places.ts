// Places for streams. A loaded model runs a few streams in turns, and further streams wait for a place.

import type { Clock } from '../../lib/clock.ts'
import type { FleetModel, StreamPlace } from './fleet-model.ts'

/** The most streams of one model that one worker runs in turns. */
export const STREAMS_PER_REPLICA_MAX = 4

/** The clock, and the listener for changes. */
export interface StreamPlacesOptions {
  readonly clock: Clock
  /** Called when a stream begins to wait and when a place becomes free. */
  readonly onChange: () => void
}

/** Hands out the places of all models, in order of arrival. */
export class StreamPlaces {
  readonly #options: StreamPlacesOptions

  constructor(options: StreamPlacesOptions) {
    this.#options = options
  }

  /** Waits for a place, which the caller gives back. Rejects with the signal's reason. */
  async take(model: FleetModel, signal: AbortSignal): Promise<StreamPlace> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<StreamPlace>()
    const waiting = { enqueuedAtMs: this.#nowMs(), begin: resolve, reject }
    const onAbort = (): void => {
      if (model.streams.delete(waiting)) reject(signal.reason)
    }
    model.streams.add(waiting)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#options.onChange()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Gives a place back to its own replica. After a crash, its worker may have a newer replica. */
  giveBack(model: FleetModel, { replica }: StreamPlace): void {
    replica.streams -= 1
    replica.running -= 1
    model.lastUsedMs = this.#nowMs()
    this.#options.onChange()
  }

  /** Gives free places to waiting streams. */
  fill(model: FleetModel): void {
    if (model.isQuiescing) return
    for (const [worker, replica] of model.replicas) {
      for (const stream of model.streams) {
        if (replica.state !== 'ready' || replica.streams >= STREAMS_PER_REPLICA_MAX) break
        model.streams.delete(stream)
        replica.streams += 1
        replica.running += 1
        model.lastUsedMs = this.#nowMs()
        model.hasServed = true
        stream.begin({ worker, replica })
      }
    }
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}
