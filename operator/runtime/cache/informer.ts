// Keeps the objects of one selection up to date, as long as the process lives.
//
//   absent ◄─404── listing ──► watching ──┬─ closed ────────────► watching again, from the last version
//      │              ▲                   ├─ failed ── back off ─► watching again, from the last version
//      └──re-check────┤                   ├─ silent ─────────────► watching again, from the last version
//                     └───────────────────┴─ 410, failed too often, or the time of a list has come
//
// Invariants:
//   IN1  Nothing but `stop` ends it: no refusal, no silence, no exception of a handler.
//   IN2  It is ready from its first list on, while the kind is served.
//   IN3  A silent watch lasts `SILENCE_MS_MAX` at most. A change that a watch lost is found by the next list, after
//        `RELIST_MS` and a tenth of that at most.
//   IN4  A list that is older than what is known is asked for again, `STALE_LISTS_MAX` times in a row. After that it is
//        taken: the API's own past has changed, as after the restore of a backup of etcd.
//   IN5  When the kind is no longer served, its objects stay: they are not taken for deleted.

import type { Clock } from '../../../lib/clock.ts'
import { backoffDelayMs } from '../../../lib/backoff.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { classifyError, retryAfterMsOf } from '../api/api-error.ts'
import type { KubernetesApi, Selection, WatchEvent } from '../api/kubernetes-api.ts'
import { listAll } from './list-all.ts'
import { compareVersions } from './object-index.ts'
import type { ObjectIndex } from './object-index.ts'

export const RELIST_MS = 10 * 60_000
/** The API sends a bookmark each minute. */
export const SILENCE_MS_MAX = 150_000
export const STALE_LISTS_MAX = 3
/** The API ends a watch after a random part of this and as much again, so that not all come back at once. */
const WATCH_SECONDS = 300
/** A list costs the API more than a watch, so it comes after some watches that failed. */
const WATCH_FAILURES_MAX = 5
const BACKOFF = { baseMs: 500, capMs: 30_000, retriesMax: Infinity }
/** The tenth by which moments of many informers are spread. */
const JITTER = 0.1

/** What informers have in common. */
export interface InformerOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** How soon a kind that is not served is looked for again. */
  readonly absentRecheckMs: number
  /** A kind that may not be read counts as one that is not served: nothing needs it. */
  readonly isOptional?: boolean
}

/** What an informer has met. */
export interface InformerFigures {
  readonly isReady: boolean
  /** The time since the API said anything, a bookmark included. */
  readonly lastEventAgeMs: number
  readonly lists: number
  readonly watches: number
  readonly failures: number
  readonly silences: number
}

/** How a watch ended. */
type WatchEnd = 'closed' | 'silent' | 'relist-due'

/** Lists and watches one selection from `start` to `stop`, and puts what it is told into an index. */
export class Informer {
  readonly #selection: Selection
  readonly #index: ObjectIndex
  readonly #with: InformerOptions
  readonly #stop = new AbortController()
  readonly #firstList = Promise.withResolvers<void>()
  #running: Promise<void> = Promise.resolve()
  /** Everything up to here is in the index. Empty before the first list. */
  #version = ''
  #needsList = true
  #relistAtMs = 0
  #lastEventMs: number
  #isReady = false
  #lists = 0
  #watches = 0
  #failures = 0
  #silences = 0
  #failuresInRow = 0
  #staleLists = 0

  constructor(selection: Selection, index: ObjectIndex, options: InformerOptions) {
    this.#selection = selection
    this.#index = index
    this.#with = options
    this.#lastEventMs = options.clock.monotonicMs()
  }

  /** Resolves with the first list. */
  get synced(): Promise<void> {
    return this.#firstList.promise
  }

  figures(): InformerFigures {
    return {
      isReady: this.#isReady,
      lastEventAgeMs: this.#with.clock.monotonicMs() - this.#lastEventMs,
      lists: this.#lists,
      watches: this.#watches,
      failures: this.#failures,
      silences: this.#silences,
    }
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        if (this.#isListDue()) await this.#list()
        await this.#watch()
      } catch (error) {
        if (signal.aborted) return
        await this.#recover(error).catch(() => undefined) // stopped during the wait
      }
    }
  }

  #isListDue(): boolean {
    return this.#needsList || this.#with.clock.monotonicMs() >= this.#relistAtMs
  }

  async #list(): Promise<void> {
    const { api, clock, random } = this.#with
    const { items, resourceVersion } = await listAll(api, this.#selection, this.#stop.signal)
    this.#lists += 1
    if (this.#isStale(resourceVersion)) return this.#waitForLaggard()
    this.#staleLists = 0
    this.#version = resourceVersion
    this.#needsList = false
    this.#relistAtMs = clock.monotonicMs() + RELIST_MS * (1 + JITTER * random())
    this.#heard()
    this.#index.replace(items)
    this.#isReady = true
    this.#firstList.resolve()
  }

  #isStale(version: string): boolean {
    if (this.#version === '' || compareVersions(version, this.#version) >= 0) return false
    this.#staleLists += 1
    return this.#staleLists <= STALE_LISTS_MAX
  }

  async #waitForLaggard(): Promise<void> {
    const { clock, random } = this.#with
    await clock.sleep(backoffDelayMs(BACKOFF, this.#staleLists, random), this.#stop.signal)
    await this.#list()
  }

  /** Follows one watch until it ends. */
  async #watch(): Promise<void> {
    const { clock } = this.#with
    this.#watches += 1
    const beganMs = clock.monotonicMs()
    const end = await this.#follow()
    if (end === 'silent') {
      this.#silences += 1
      this.#with.log.warn('watch was silent', { kind: this.#selection.kind.plural })
    }
    // An API that ends each watch at once must not be asked without end.
    const isFruitless = end === 'closed' && clock.monotonicMs() - beganMs < BACKOFF.baseMs
    if (isFruitless) await clock.sleep(BACKOFF.baseMs, this.#stop.signal)
    else this.#failuresInRow = 0
  }

  async #follow(): Promise<WatchEnd> {
    const { api, random } = this.#with
    const watch = new AbortController()
    const timeoutSeconds = Math.ceil(WATCH_SECONDS * (1 + random()))
    const request = { ...this.#selection, resourceVersion: this.#version, timeoutSeconds }
    const events = api.watch(request, watch.signal)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const event = await this.#next(events)
        if (typeof event === 'string') return event
        this.#heard()
        this.#take(event)
      }
    } finally {
      watch.abort()
      // A stalled stream may never answer: nobody waits for it.
      void Promise.resolve(events.return?.()).catch(() => undefined)
    }
  }

  /** The next event, or why there is none. */
  async #next(events: AsyncIterator<WatchEvent>): Promise<WatchEvent | WatchEnd> {
    const { clock } = this.#with
    const silentMs = this.#lastEventMs + SILENCE_MS_MAX - clock.monotonicMs()
    const relistMs = this.#relistAtMs - clock.monotonicMs()
    if (relistMs <= 0) return 'relist-due'
    const timer = new AbortController()
    const late = clock.sleep(Math.max(0, Math.min(silentMs, relistMs)), timer.signal).then(
      (): WatchEnd => (silentMs < relistMs ? 'silent' : 'relist-due'),
      (): WatchEnd => 'closed',
    )
    const told = events
      .next()
      .then(({ done, value }): WatchEvent | WatchEnd => (done === true ? 'closed' : value))
    try {
      const next = await unlessAborted(Promise.race([told, late]), this.#stop.signal)
      if (next === 'silent') this.#heard() // the next watch has its own time
      return next
    } finally {
      timer.abort()
    }
  }

  #take(event: WatchEvent): void {
    this.#failuresInRow = 0
    const version =
      event.type === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
    // What was told before may name an object that has gone since: it must not come back (OX1).
    if (compareVersions(version, this.#version) <= 0) return
    this.#version = version
    if (event.type === 'bookmark') return
    if (event.type === 'deleted') this.#index.delete(event.object)
    else this.#index.put(event.object)
  }

  #heard(): void {
    this.#lastEventMs = this.#with.clock.monotonicMs()
  }

  async #recover(error: unknown): Promise<void> {
    const { clock, log, random, absentRecheckMs, isOptional = false } = this.#with
    const { plural: kind } = this.#selection.kind
    const reaction = classifyError(error)
    this.#failures += 1
    this.#failuresInRow += 1
    log.warn('informer failed', { kind, reaction, error: messageOf(error) })
    if (reaction === 'absent' || (isOptional && reaction === 'forbidden')) {
      this.#isReady = false
      this.#needsList = true
      return clock.sleep(absentRecheckMs, this.#stop.signal)
    }
    this.#needsList ||= reaction === 'expired' || this.#failuresInRow % WATCH_FAILURES_MAX === 0
    const delayMs = backoffDelayMs(BACKOFF, this.#failuresInRow - 1, random)
    await clock.sleep(Math.max(delayMs, retryAfterMsOf(error)), this.#stop.signal)
  }
}
