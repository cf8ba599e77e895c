import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import type { IndexEvents } from './index-events.ts'

/** The index and the shard that a line of the log names. */
export type IndexPlace = Readonly<Record<'table' | 'shardId' | 'index', string>>

const NEVER_COMPLETE = 'there is none yet, or it was not complete when the node ended'

/** The index that the notices are about, and the log and the counts that they go to. */
export interface BuildNoticesOptions {
  readonly log: Log
  readonly clock: Clock
  readonly events: IndexEvents
  /** The kind of the index. It is the first word of each line. */
  readonly kind: string
}

/** Logs long work on an index: one line when it begins and one when it ends. */
export class BuildNotices {
  readonly #log: Log
  readonly #clock: Clock
  readonly #place: IndexPlace
  readonly #events: IndexEvents
  readonly #kind: string
  #since: { readonly kind: 'built' | 'caught up'; readonly ms: number } | undefined

  constructor(place: IndexPlace, { log, clock, events, kind }: BuildNoticesOptions) {
    this.#place = place
    this.#log = log
    this.#clock = clock
    this.#events = events
    this.#kind = kind
  }

  /** Whether the index existed before, and lacks only the newest entries of the log. */
  get isCatchingUp(): boolean {
    return this.#since?.kind === 'caught up'
  }

  building(reason: string | undefined): void {
    this.#since = { kind: 'built', ms: this.#clock.monotonicMs() }
    const fields = { ...this.#place, reason: reason ?? NEVER_COMPLETE }
    if (reason === undefined) {
      this.#events.firstBuilds += 1
      this.#log.info(`${this.#kind} index is being built`, fields)
    } else {
      this.#events.rebuilds += 1
      this.#log.warn(`${this.#kind} index is being built`, fields)
    }
  }

  /** A build that a clean stop interrupted. It is not counted again. */
  continuing(documents: number): void {
    this.#since = { kind: 'built', ms: this.#clock.monotonicMs() }
    this.#log.info(`${this.#kind} index is being built further`, { ...this.#place, documents })
  }

  built(documents: number): void {
    if (this.#since?.kind !== 'built') return
    this.#log.info(`${this.#kind} index is built`, {
      ...this.#place,
      documents,
      tookMs: this.#tookMs(),
    })
  }

  catchingUp(entries: number): void {
    this.#since = { kind: 'caught up', ms: this.#clock.monotonicMs() }
    const reason = 'the node ended before the index was written'
    this.#log.info(`${this.#kind} index is catching up`, { ...this.#place, entries, reason })
  }

  caughtUp(): void {
    if (!this.isCatchingUp) return
    this.#log.info(`${this.#kind} index has caught up`, { ...this.#place, tookMs: this.#tookMs() })
  }

  /** The index failed or starts again, so the work that had begun gets no line for its end. */
  forget(): void {
    this.#since = undefined
  }

  #tookMs(): number {
    const startedMs = this.#since?.ms ?? 0
    this.#since = undefined
    return Math.round(this.#clock.monotonicMs() - startedMs)
  }
}
