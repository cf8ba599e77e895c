// The sources that have entries for the next batches, and the time when the next batch is due.

import type { Clock } from '../../lib/clock.ts'
import { alignedLength, BATCH_HEADER_BYTES, ROW_BYTES } from './journal-format.ts'
import type { JournalSource } from './journal-source.ts'

/** A longer batch would delay its first entries by the bytes of all the others. */
const BATCH_BYTES_MAX = 1024 * 1024
/** How long an entry without a waiting caller waits for other entries to share its batch. */
const COMPANY_MS = 5

/** The clock that paces the queue, and the call for a due batch. */
export interface BatchQueueOptions {
  readonly clock: Clock
  /** Called when a batch becomes due. It may be called again while one is due. */
  readonly onDue: () => void
}

/** Collects sources and chooses the next batch. It writes nothing itself. */
export class BatchQueue {
  readonly #with: BatchQueueOptions
  #sources: JournalSource[] = []
  /** Whether a caller waits for a queued entry. */
  #isAwaited = false
  #isWaitingForCompany = false

  constructor(options: BatchQueueOptions) {
    this.#with = options
  }

  get length(): number {
    return this.#sources.length
  }

  get isEmpty(): boolean {
    return this.length === 0
  }

  /** Whether the queue holds entries that a caller waits for. */
  get isDue(): boolean {
    return this.#isAwaited && !this.isEmpty
  }

  push(source: JournalSource, { isAwaited }: { readonly isAwaited: boolean }): void {
    this.#sources.push(source)
    if (isAwaited) this.hurry()
    else this.waitForCompany()
  }

  /** Marks the queue as awaited: a caller waits for its entries from now on. */
  hurry(): void {
    if (this.isEmpty) return
    this.#isAwaited = true
    this.#with.onDue()
  }

  /** Makes the queue due after COMPANY_MS, even if no caller waits. */
  waitForCompany(): void {
    if (this.#isWaitingForCompany || this.isEmpty) return
    this.#isWaitingForCompany = true
    void this.#with.clock.sleep(COMPANY_MS).then(() => {
      this.#isWaitingForCompany = false
      this.hurry()
    })
  }

  /**
   * The sources of the next batch: as many as fit, and at least one, with all companions that have entries, queued or
   * not (J2). They stay in the queue.
   */
  next(): ReadonlySet<JournalSource> {
    let bytes = 0
    const fitting = this.#sources.findIndex((source, at) => {
      bytes += source.readyBytes
      return at > 0 && bytes > BATCH_BYTES_MAX
    })
    const chosen = new Set(fitting === -1 ? this.#sources : this.#sources.slice(0, fitting))
    // A set also walks over members that the loop adds.
    for (const { companions } of chosen) {
      for (const companion of companions) if (companion.readyEntries > 0) chosen.add(companion)
    }
    return chosen
  }

  /** Removes the sources that `next` answered. */
  remove(sources: ReadonlySet<JournalSource>): void {
    this.#sources = this.#sources.filter((source) => !sources.has(source))
    if (this.isEmpty) this.#isAwaited = false
  }

  clear(): readonly JournalSource[] {
    const sources = this.#sources
    this.#sources = []
    this.#isAwaited = false
    return sources
  }
}

/** The bytes of a batch with all ready rows of the sources, and `marks` rows more. */
export function batchBytes(sources: Iterable<JournalSource>, marks: number): number {
  let bytes = BATCH_HEADER_BYTES + marks * ROW_BYTES
  for (const { readyBytes, readyEntries } of sources) bytes += readyBytes + readyEntries * ROW_BYTES
  return alignedLength(bytes)
}
