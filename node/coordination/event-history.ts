// The recent events of an embedded coordination store, and the watchers that follow them.
//
// Invariants:
//   H1  The history holds every event with a revision of at least `#firstRevision`, in order.
//   H2  A watcher has received or buffers every event of its prefix since it began. If an event was
//       dropped, the watcher receives `compacted` and nothing after it.

import type { CoordinationEvent } from './coordination.ts'
import { WatchBuffer } from './watch-buffer.ts'

/** Enough to cover the time between a listing and the watch that continues it. */
const HISTORY_EVENTS_MAX = 1024

/** One event with the key and the revision that watchers select it by. */
export interface KeyedEvent {
  readonly revision: number
  readonly key: string
  readonly event: CoordinationEvent
}

/** Keeps HISTORY_EVENTS_MAX events, and feeds each open watch. */
export class EventHistory {
  readonly #watchers = new Set<Watcher>()
  #events: KeyedEvent[] = []
  #firstRevision: number

  /** The history begins after `revision`. */
  constructor(revision: number) {
    this.#firstRevision = revision + 1
  }

  add(events: readonly KeyedEvent[]): void {
    this.#events.push(...events)
    for (const watcher of this.#watchers) for (const each of events) watcher.offer(each)
    this.#forgetOldest()
  }

  /** Forgets the past up to `revision` and ends all watches. The caller has missed events. */
  reset(revision: number): void {
    this.#events = []
    this.#firstRevision = revision + 1
    for (const watcher of this.#watchers) watcher.buffer.compact()
    this.#watchers.clear()
  }

  async *watch(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<CoordinationEvent, void> {
    const watcher = new Watcher(prefix, fromRevision)
    if (fromRevision < this.#firstRevision) watcher.buffer.compact()
    else for (const each of this.#events) watcher.offer(each)
    this.#watchers.add(watcher)
    try {
      yield* watcher.buffer.drain(signal)
    } finally {
      this.#watchers.delete(watcher)
    }
  }

  /** Drops whole revisions only, so that H1 holds. */
  #forgetOldest(): void {
    if (this.#events.length <= HISTORY_EVENTS_MAX) return
    const last = this.#events[this.#events.length - HISTORY_EVENTS_MAX - 1]
    if (last === undefined) return
    this.#firstRevision = last.revision + 1
    this.#events = this.#events.filter(({ revision }) => revision > last.revision)
  }
}

class Watcher {
  readonly buffer = new WatchBuffer()
  readonly #prefix: string
  readonly #fromRevision: number

  constructor(prefix: string, fromRevision: number) {
    this.#prefix = prefix
    this.#fromRevision = fromRevision
  }

  offer({ revision, key, event }: KeyedEvent): void {
    if (revision >= this.#fromRevision && key.startsWith(this.#prefix)) this.buffer.offer(event)
  }
}
