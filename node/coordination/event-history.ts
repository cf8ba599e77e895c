// The recent past of an embedded coordination store, and those who follow it.
//
// Invariants:
//   H1  The history holds every event with a revision of at least `#firstRevision`, in order.
//   H2  A watcher has been given, or has buffered, every event of its prefix since it began; if
//       one had to be left out, it has been told `compacted` and gets nothing more.

import type { CoordinationEvent } from './coordination.ts'
import { WATCH_BUFFER_MAX } from './coordination.ts'

/** Enough to bridge the time between a listing and the watch that follows it. */
const HISTORY_EVENTS_MAX = 1024

export interface Happening {
  readonly revision: number
  readonly key: string
  readonly event: CoordinationEvent
}

export class EventHistory {
  readonly #watchers = new Set<Watcher>()
  #happenings: Happening[] = []
  #firstRevision: number

  /** `revision` is the last one whose events are not remembered. */
  constructor(revision: number) {
    this.#firstRevision = revision + 1
  }

  add(happenings: readonly Happening[]): void {
    this.#happenings.push(...happenings)
    for (const watcher of this.#watchers) for (const each of happenings) watcher.offer(each)
    this.#forgetOldest()
  }

  /** For when events were missed: forgets the past up to `revision` and ends all watches. */
  reset(revision: number): void {
    this.#happenings = []
    this.#firstRevision = revision + 1
    for (const watcher of this.#watchers) watcher.compact()
    this.#watchers.clear()
  }

  async *watch(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<CoordinationEvent, void> {
    const watcher = new Watcher(prefix, fromRevision)
    if (fromRevision < this.#firstRevision) watcher.compact()
    else for (const each of this.#happenings) watcher.offer(each)
    this.#watchers.add(watcher)
    const onAbort = (): void => watcher.wake()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      while (!signal.aborted) {
        const event = watcher.take()
        if (event === undefined) await watcher.woken()
        else yield event
        if (event?.kind === 'compacted') return
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#watchers.delete(watcher)
    }
  }

  /** Drops whole revisions only, so that H1 holds. */
  #forgetOldest(): void {
    if (this.#happenings.length <= HISTORY_EVENTS_MAX) return
    const last = this.#happenings[this.#happenings.length - HISTORY_EVENTS_MAX - 1]
    if (last === undefined) return
    this.#firstRevision = last.revision + 1
    this.#happenings = this.#happenings.filter(({ revision }) => revision > last.revision)
  }
}

class Watcher {
  readonly #prefix: string
  readonly #fromRevision: number
  #buffer: CoordinationEvent[] = []
  #isCompacted = false
  #waking = Promise.withResolvers<void>()

  constructor(prefix: string, fromRevision: number) {
    this.#prefix = prefix
    this.#fromRevision = fromRevision
  }

  offer({ revision, key, event }: Happening): void {
    if (this.#isCompacted || revision < this.#fromRevision || !key.startsWith(this.#prefix)) return
    if (this.#buffer.length >= WATCH_BUFFER_MAX) return this.compact()
    this.#buffer.push(event)
    this.wake()
  }

  /** What is buffered is dropped: the consumer lists again anyway. */
  compact(): void {
    this.#isCompacted = true
    this.#buffer = [{ kind: 'compacted' }]
    this.wake()
  }

  take(): CoordinationEvent | undefined {
    return this.#buffer.shift()
  }

  wake(): void {
    this.#waking.resolve()
  }

  async woken(): Promise<void> {
    await this.#waking.promise
    this.#waking = Promise.withResolvers()
  }
}
