// Places for streams: a loaded model steps through a few at a time, and others wait for one.

import type { Clock } from '../../lib/clock.ts'
import type { FleetModel, StreamPlace } from './fleet-model.ts'

/** Streams of one model that one worker steps through in turns. */
export const STREAMS_PER_REPLICA_MAX = 4

export interface StreamPlacesOptions {
  readonly clock: Clock
  /** A stream waits, or a place is free. */
  readonly onChange: () => void
}

export class StreamPlaces {
  readonly #options: StreamPlacesOptions

  constructor(options: StreamPlacesOptions) {
    this.#options = options
  }

  /** Waits for a place; the caller gives it back. */
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

  /** Of the very replica that gave it: after a crash there may be another in its place. */
  giveBack(model: FleetModel, { replica }: StreamPlace): void {
    replica.streams -= 1
    replica.running -= 1
    model.lastUsedMs = this.#nowMs()
    this.#options.onChange()
  }

  /** Gives those who wait the places that are free. */
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
