import type { CoordinationEvent } from './coordination.ts'
import { WATCH_BUFFER_MAX } from './coordination.ts'

/**
 * The events of one watch that its consumer has not taken yet: at most WATCH_BUFFER_MAX. When one
 * more comes, or the past is gone, `compacted` takes the place of all.
 */
export class WatchBuffer {
  #events: CoordinationEvent[] = []
  #isCompacted = false
  #waking = Promise.withResolvers<void>()

  get isCompacted(): boolean {
    return this.#isCompacted
  }

  offer(event: CoordinationEvent): void {
    if (this.#isCompacted) return
    if (this.#events.length >= WATCH_BUFFER_MAX) return this.compact()
    this.#events.push(event)
    this.wake()
  }

  /** Drops the events, because the consumer must list again. */
  compact(): void {
    this.#isCompacted = true
    this.#events = [{ kind: 'compacted' }]
    this.wake()
  }

  /** Yields the events as they come, until `compacted` or until `signal` aborts. */
  async *drain(signal: AbortSignal): AsyncGenerator<CoordinationEvent, void> {
    const onAbort = (): void => this.wake()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      while (!signal.aborted) {
        const event = this.#events.shift()
        if (event === undefined) await this.#woken()
        else yield event
        if (event?.kind === 'compacted') return
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  wake(): void {
    this.#waking.resolve()
  }

  async #woken(): Promise<void> {
    await this.#waking.promise
    this.#waking = Promise.withResolvers()
  }
}
