// Decides which segments may be removed. The owner of a log stores its state elsewhere too, and
// reports how far that state is durable. If too many segments are kept, the owners that need the
// oldest one are asked to flush.

import { assert } from '../../lib/assert.ts'
import type { Log } from '../../lib/log.ts'
import { messageOf } from '../../lib/errors.ts'
import type { JournalContent } from './journal-content.ts'
import type { LogId } from './journal-format.ts'
import type { LogOwner } from './log-owner.ts'
import type { Segment } from './journal-segment.ts'

/** At this multiple of `keptBytes`, writes wait until the owners have flushed. */
const OVERFULL = 8
/** How many flushes run at once. Each occupies a thread of the pool. */
const FLUSHES_MAX = 2

/** The segments to keep, and the callback that removes one. */
export interface JournalRetentionOptions {
  readonly log: Log
  /** This object removes segments from its front. */
  readonly content: JournalContent
  readonly keptBytes: number
  /** The bytes of segments that are kept for entries which an owner wants beyond its flush. */
  readonly wantedBytes: number
  /**
   * Writes marks again that would go away with the segment. False if it has none; otherwise the
   * caller calls `shrink` again when they are durable.
   */
  readonly carry: (segment: Segment) => boolean
  readonly release: (segment: Segment) => Promise<void>
}

interface KnownLog {
  /** Undefined for a shard that is not open. The next start needs its entries. */
  readonly owner: LogOwner | undefined
  readonly flushed: number
}

/** Tracks which logs need which segments (J3, J6). */
export class JournalRetention {
  readonly #with: JournalRetentionOptions
  readonly #logs = new Map<LogId, KnownLog>()
  #shrinking: Promise<void> | undefined

  constructor(options: JournalRetentionOptions) {
    this.#with = options
    const { keptBytes, wantedBytes } = options
    assert(wantedBytes < keptBytes * OVERFULL, 'wanted entries never make writes wait')
    for (const segment of options.content.segments) {
      for (const [logId] of segment.logs()) this.#logs.set(logId, { owner: undefined, flushed: 0 })
    }
  }

  retainOnly(logIds: ReadonlySet<LogId>): void {
    for (const logId of this.#logs.keys()) {
      if (!logIds.has(logId)) this.#logs.delete(logId)
    }
  }

  register(logId: LogId, owner: LogOwner, flushed: number): void {
    this.#logs.set(logId, { owner, flushed })
  }

  unregister(logId: LogId, entries: 'keep' | 'drop'): void {
    const known = this.#logs.get(logId)
    if (entries === 'drop') this.#logs.delete(logId)
    else this.#logs.set(logId, { owner: undefined, flushed: known?.flushed ?? 0 })
  }

  flushed(logId: LogId, sequence: number): void {
    const known = this.#logs.get(logId)
    if (known !== undefined && known.flushed < sequence) {
      this.#logs.set(logId, { ...known, flushed: sequence })
    }
  }

  /** Removes segments in the background while more than `keptBytes` are kept. */
  shrink(): void {
    if (!this.#isOver(1)) return
    this.#shrinking ??= this.#shrink()
      .catch((error: unknown) =>
        this.#with.log.warn('journal segments are kept', { error: messageOf(error) }),
      )
      .finally(() => {
        this.#shrinking = undefined
      })
  }

  /**
   * Resolves when the journal may grow. It waits only if the owners are far behind with flushing.
   */
  async room(): Promise<void> {
    if (!this.#isOver(OVERFULL)) return
    this.shrink()
    await this.#shrinking
  }

  async idle(): Promise<void> {
    await this.#shrinking
  }

  #isOver(times: number): boolean {
    return this.#bytes > this.#with.keptBytes * times
  }

  get #bytes(): number {
    return this.#with.content.segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }

  async #shrink(): Promise<void> {
    const { content } = this.#with
    while (this.#isOver(1) && content.segments.length > 1) {
      const [oldest] = content.segments
      if (oldest === undefined || oldest.isRead || this.#isWanted(oldest)) return
      const holders = this.#holdersOf(oldest)
      if (holders.some(([, { owner }]) => owner === undefined)) {
        if (!this.#isOver(OVERFULL)) return
        this.#giveUp(holders)
      }
      await this.#flush(holders)
      if (this.#holdersOf(oldest).length > 0) return // an owner is not that far; the next call tries again
      if (this.#with.carry(oldest) || oldest.isRead) return
      content.removeOldest()
      await this.#with.release(oldest)
    }
  }

  /** Whether an owner still wants entries of the segment, and there is room for its wish. */
  #isWanted(segment: Segment): boolean {
    if (this.#bytes > this.#with.wantedBytes) return false
    for (const [logId, lastSequence] of segment.logs()) {
      const wantedFrom = this.#logs.get(logId)?.owner?.wantedFrom?.() ?? Infinity
      if (wantedFrom <= lastSequence) return true
    }
    return false
  }

  /** The logs that need a segment (J3). */
  #holdersOf(segment: Segment): readonly (readonly [LogId, KnownLog])[] {
    const holders: [LogId, KnownLog][] = []
    for (const [logId, lastSequence] of segment.logs()) {
      const known = this.#logs.get(logId)
      if (known !== undefined && known.flushed < lastSequence) holders.push([logId, known])
    }
    return holders
  }

  async #flush(holders: readonly (readonly [LogId, KnownLog])[]): Promise<void> {
    const waiting = [...holders]
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [logId, { owner }] = next
        if (owner !== undefined) this.flushed(logId, await owner.flush())
      }
    }
    await Promise.all(Array.from({ length: FLUSHES_MAX }, work))
  }

  /**
   * Drops the entries of shards that do not open, so that they do not fill the disk of the other
   * shards.
   */
  #giveUp(holders: readonly (readonly [LogId, KnownLog])[]): void {
    for (const [logId, { owner }] of holders) {
      if (owner !== undefined) continue
      this.#logs.delete(logId)
      this.#with.log.error('dropped journal entries of a shard that does not open', { logId })
    }
  }
}
