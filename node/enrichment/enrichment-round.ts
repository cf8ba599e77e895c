// One continuous run of enrichment on one shard: the log from some entry on, and a walk over what is left of the table.
// Where the log becomes too long, a run ends, and the next one walks instead.

import { InvariantError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { EnrichmentProgress, WalkedSpan } from '../shard/command/enrich-command.ts'
import { keyspaceRange, logKey } from '../shard/format/keyspace.ts'
import type { LedShard } from '../shard/led-shard.ts'
import { ArtifactWriter } from './artifact-writer.ts'
import { DocumentEnricher } from './document-enricher.ts'
import { Ending } from './ending.ts'
import { BACKOFF_MS_MAX } from './enrichment-backoff.ts'
import type { EnrichmentRoom } from './enrichment-room.ts'
import { KeyTasks, type Retry } from './key-tasks.ts'
import type { ModelLine } from './model-line.ts'
import type { ParkedDocuments } from './parked-documents.ts'
import { TableWalk } from './table-walk.ts'
import { TouchFollower, type LogMark } from './touch-follower.ts'

/** How much of the log is kept for one index before a walk takes its place. */
export interface LogLimits {
  readonly entries: number
  readonly bytes: number
}

export const LOG_LIMITS: LogLimits = { entries: 100_000, bytes: 64 * 1024 * 1024 }
const TEND_PERIOD_MS = 10_000

/** Why a round ended. */
export type RoundEnd =
  | { readonly kind: 'closed' }
  /** The log is too long, or does not reach back: the table has to be walked. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'failed'; readonly error: string }

/** The parts of a round. It closes none of them. */
export interface EnrichmentRoundOptions {
  readonly led: LedShard
  readonly line: ModelLine
  readonly room: EnrichmentRoom
  readonly parked: ParkedDocuments
  readonly limits: LogLimits
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** The shard has stored this progress. */
  readonly onSaved: (progress: EnrichmentProgress) => void
}

/** Enriches what was touched behind `progress`, and what its spans have. */
export class EnrichmentRound {
  readonly #with: EnrichmentRoundOptions
  readonly #ending = new Ending()
  readonly #writer: ArtifactWriter
  readonly #tasks: KeyTasks
  readonly #follower: TouchFollower
  readonly #walk: TableWalk
  #saved: LogMark
  #savedSpans: readonly WalkedSpan[]
  #end: RoundEnd = { kind: 'closed' }
  #retrying = 0
  #walkedThrough = 0
  #wakeRetries: (() => void) | undefined

  constructor(options: EnrichmentRoundOptions, { sequence, spans }: EnrichmentProgress) {
    this.#with = options
    const ending = this.#ending
    const indexId = options.line.enrichment.index
    const progress = (): EnrichmentProgress => this.#noteAndGetProgress()
    this.#writer = new ArtifactWriter({ ...options, indexId, ending, progress })
    const documents = new DocumentEnricher({
      ...options,
      writer: this.#writer,
      ending,
      onRetrying: (change) => {
        this.#retrying += change
      },
    })
    const tasks = new KeyTasks({ ...options, ending, indexId }, (task) => documents.enrich(task))
    this.#tasks = tasks
    this.#follower = new TouchFollower({ ...options, after: sequence, tasks, ending })
    this.#walk = new TableWalk({ store: options.led.store, spans, tasks, ending })
    this.#saved = { sequence, documents: 0 }
    this.#savedSpans = spans
  }

  /** What a later leader need not look at. */
  get progress(): EnrichmentProgress {
    return { sequence: this.#follower.completed.sequence, spans: this.#walk.left }
  }

  /** Artifacts that were written. */
  get written(): number {
    return this.#writer.written
  }

  /** Documents with a task, and those that the log and the walk have left. */
  get waiting(): number {
    const left = this.#walk.documentsLeft(this.#with.led.documentsMax)
    return this.#tasks.count + this.#follower.documentsLeft + left
  }

  get retrying(): number {
    return this.#retrying
  }

  get error(): string | undefined {
    return this.#writer.error ?? this.#tasks.error
  }

  /** The newest log entry when the walk ended; 0 before, or without a walk. */
  get walkedThrough(): number {
    return this.#walkedThrough
  }

  /** Documents that the walk has done. */
  get documentsWalked(): number {
    return this.#walk.documents
  }

  /** From 0 to 1. */
  walked(): Promise<number> {
    return this.#walk.progress()
  }

  /** Resolves when the round has ended and none of its work is left. */
  async run({ savesAtOnce }: { readonly savesAtOnce: boolean }): Promise<RoundEnd> {
    if (savesAtOnce) this.#writer.saveProgress()
    const loops = [this.#follower.run(), this.#walkAll(), this.#retryParked()]
    const stopTending = this.#with.clock.every(TEND_PERIOD_MS, () =>
      this.#tend().catch((error: unknown) => this.#failed(error)),
    )
    const unlisten = this.#with.line.onRecovered(() => this.#wakeRetries?.())
    await Promise.all(loops.map((loop) => loop.catch((error: unknown) => this.#failed(error))))
    unlisten()
    await Promise.all([stopTending(), this.#tasks.idle(), this.#writer.idle()])
    return this.#end
  }

  /** Aborts what is under way. */
  close(): void {
    this.#finish({ kind: 'closed' })
  }

  #finish(end: RoundEnd): void {
    if (this.#ending.isOver) return
    this.#end = end
    this.#ending.end(new Error('this round of enrichment is over'))
  }

  #failed(error: unknown): void {
    if (error instanceof InvariantError) throw error
    const isTooShort = isServiceError(error) && error.code === 'CORRUPTION'
    const isDamaged = this.#with.led.store.damage !== undefined
    this.#finish(
      isTooShort && !isDamaged ? { kind: 'behind' } : { kind: 'failed', error: messageOf(error) },
    )
  }

  async #walkAll(): Promise<void> {
    const walks = this.progress.spans.length > 0
    await this.#walk.run()
    if (!walks) return
    this.#walkedThrough = this.#with.led.committedSequence
    this.#writer.saveProgress()
  }

  /** A walk that stops here continues in the next leadership. */
  async #tend(): Promise<void> {
    if (await this.#isBehind()) return this.#finish({ kind: 'behind' })
    const { spans } = this.progress
    const hasWalked = this.#savedSpans.length !== spans.length || isFurther(spans, this.#savedSpans)
    if (hasWalked || this.#follower.isWorthSaving(this.#saved)) this.#writer.saveProgress()
  }

  async #isBehind(): Promise<boolean> {
    const { led, limits } = this.#with
    const { sequence } = this.#follower.completed
    if (led.appliedSequence - sequence > limits.entries) return true
    const kept = { gte: logKey(sequence + 1), lt: keyspaceRange('log').lt }
    return (await led.store.approximateBytes(kept)) > limits.bytes
  }

  #noteAndGetProgress(): EnrichmentProgress {
    const { progress } = this
    this.#saved = this.#follower.completed
    this.#savedSpans = progress.spans
    return progress
  }

  /**
   * Documents that are parked because the models were not reached are tried again as soon as they answer, and those
   * that name a file which was not there from time to time.
   */
  async #retryParked(): Promise<never> {
    const { parked } = this.#with
    let retry: Retry = { kind: 'round', number: 0 }
    for (let next = 1; ;) {
      const { unreachable } = await parked.counts()
      if (unreachable > 0) await this.#retryAll(retry)
      const isWoken = await this.#isWokenWithinAPeriod()
      retry = isWoken ? { kind: 'recovered' } : { kind: 'round', number: next }
      if (!isWoken) next += 1
    }
  }

  /** False after a whole period. */
  async #isWokenWithinAPeriod(): Promise<boolean> {
    const over = new AbortController()
    const later = this.#with.clock.sleep(BACKOFF_MS_MAX, over.signal)
    let isWoken = false
    await this.#ending
      .unlessOver((resolve) => {
        this.#wakeRetries = () => {
          isWoken = true
          resolve()
        }
        void later.then(resolve, () => undefined)
      })
      .finally(() => over.abort())
    return isWoken
  }

  async #retryAll(retry: Retry): Promise<void> {
    for await (const { key, cause } of this.#with.parked.marks()) {
      if (this.#ending.isOver) return
      if (cause !== 'unreachable') continue
      await this.#tasks.room('walk')
      this.#tasks.retry(key, retry)
    }
  }
}

function isFurther(now: readonly WalkedSpan[], before: readonly WalkedSpan[]): boolean {
  const [span] = now
  return (
    span !== undefined && span.after?.toString('latin1') !== before[0]?.after?.toString('latin1')
  )
}
