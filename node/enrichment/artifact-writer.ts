// Proposes artifacts to the log of their shard: what comes while one proposal is under way goes into the next.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { EnrichedDocument, EnrichmentProgress } from '../shard/command/enrich-command.ts'
import { enrichBytes } from '../shard/command/enrich-command.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { Ending } from './ending.ts'
import { enrichmentBackoffMs } from './enrichment-backoff.ts'

/** The limits of one proposal, but for a single document. */
const BYTES_MAX = 1024 * 1024
const ITEMS_MAX = 1000

interface Written {
  readonly item: EnrichedDocument
  readonly bytes: number
  readonly done: () => void
}

/** Where artifacts go. */
export interface ArtifactWriterOptions {
  readonly led: LedShard
  readonly indexId: string
  /** How far everything is that was written before the call. */
  readonly progress: () => EnrichmentProgress
  /** The shard has stored this progress. */
  readonly onSaved: (progress: EnrichmentProgress) => void
  readonly ending: Ending
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Writes artifacts of one index and one shard, in proposals of bounded size. */
export class ArtifactWriter {
  readonly #with: ArtifactWriterOptions
  #queue: Written[] = []
  #running: Promise<void> | undefined
  #savesProgress = false
  #written = 0
  #error: string | undefined

  constructor(options: ArtifactWriterOptions) {
    this.#with = options
  }

  /** Artifacts that were written. */
  get written(): number {
    return this.#written
  }

  /** Why the shard takes nothing at the moment. */
  get error(): string | undefined {
    return this.#error
  }

  /** Resolves when the store has the artifact, or the document is another one by now. Never after the end. */
  write(item: EnrichedDocument): Promise<void> {
    return new Promise((resolve, reject) => {
      const { ending } = this.#with
      if (ending.isOver) return reject(ending.reason)
      const onEnd = (): void => reject(ending.reason)
      const done = (): void => {
        ending.remove(onEnd)
        resolve()
      }
      ending.add(onEnd)
      this.#queue.push({ item, bytes: enrichBytes({ items: [item] }), done })
      this.#start()
    })
  }

  /** Writes the progress alone, with the next proposal or as one. */
  saveProgress(): void {
    this.#savesProgress = true
    this.#start()
  }

  /** Resolves when no proposal is under way. */
  async idle(): Promise<void> {
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    const { ending } = this.#with
    // The answers of a call come one by one, in this turn of the event loop.
    await nextTurn()
    while ((this.#queue.length > 0 || this.#savesProgress) && !ending.isOver) {
      this.#savesProgress = false
      await this.#propose(this.#queue.splice(0, this.#countForOne()))
    }
  }

  #countForOne(): number {
    let sum = 0
    const over = this.#queue.findIndex(({ bytes }) => {
      sum += bytes
      return sum > BYTES_MAX
    })
    return Math.min(ITEMS_MAX, over < 0 ? this.#queue.length : Math.max(1, over))
  }

  /** Until the shard takes it: what was made must not be made again because a disk was full for a moment. */
  async #propose(written: readonly Written[]): Promise<void> {
    const { led, indexId, ending, clock, random, log } = this.#with
    const items = written.map(({ item }) => item)
    for (let failures = 1; !ending.isOver; failures++) {
      try {
        const progress = this.#with.progress()
        const outcome = await led.enrich({ index: indexId, items, progress })
        this.#error = undefined
        this.#written += outcome.written
        this.#with.onSaved(progress)
        for (const { done } of written) done()
        return
      } catch (error) {
        if (failures === 1) log.warn('artifacts were not taken', { ...placeOf(led), error })
        this.#error = messageOf(error)
      }
      const pauseMs = enrichmentBackoffMs(failures, random)
      await clock.sleep(pauseMs, ending.signal).catch(() => undefined)
    }
  }
}

function placeOf({ tableName: table, id: shardId }: LedShard) {
  return { table, shardId }
}
