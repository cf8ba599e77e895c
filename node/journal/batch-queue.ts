// The sources that have entries for the next batches, and when the next one is due.

import type { Clock } from '../../lib/clock.ts'
import { alignedLength, BATCH_HEADER_BYTES, ROW_BYTES } from './journal-format.ts'
import type { JournalSource } from './journal-source.ts'

/** A longer batch would make the first of its entries wait for the bytes of all the others. */
const BATCH_BYTES_MAX = 1024 * 1024
/** How long entries that nobody waits for wait for others to share a batch with. */
const COMPANY_MS = 5

export interface BatchQueueOptions {
  readonly clock: Clock
  /** Called when a batch has become due; also when it was before. */
  readonly onDue: () => void
}

export class BatchQueue {
  readonly #with: BatchQueueOptions
  #sources: JournalSource[] = []
  /** Whether somebody waits for what is in the queue. */
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

  /** Whether there is something that somebody waits for. */
  get isDue(): boolean {
    return this.#isAwaited && !this.isEmpty
  }

  push(source: JournalSource, { isAwaited }: { readonly isAwaited: boolean }): void {
    this.#sources.push(source)
    if (isAwaited) this.hurry()
    else this.waitForCompany()
  }

  /** Somebody waits for what is in the queue now. */
  hurry(): void {
    if (this.isEmpty) return
    this.#isAwaited = true
    this.#with.onDue()
  }

  /** What is in the queue is due in a while, whether somebody waits for it or not. */
  waitForCompany(): void {
    if (this.#isWaitingForCompany || this.isEmpty) return
    this.#isWaitingForCompany = true
    void this.#with.clock.sleep(COMPANY_MS).then(() => {
      this.#isWaitingForCompany = false
      this.hurry()
    })
  }

  /** As many as fit into a batch with those they rely on, and always one. They stay in the queue. */
  next(): readonly JournalSource[] {
    let bytes = 0
    const fitting = this.#sources.findIndex((source, at) => {
      bytes += source.readyBytes
      return at > 0 && bytes > BATCH_BYTES_MAX
    })
    return fitting === -1 ? this.#sources : this.#withCompanions(this.#sources.slice(0, fitting))
  }

  #withCompanions(first: readonly JournalSource[]): readonly JournalSource[] {
    const waiting = new Set(this.#sources)
    const chosen = new Set(first)
    // A set walks over what is added to it meanwhile.
    for (const source of chosen) {
      for (const companion of source.companions) if (waiting.has(companion)) chosen.add(companion)
    }
    return [...chosen]
  }

  /** `sources` are what `next` answered. */
  remove(sources: readonly JournalSource[]): void {
    if (sources === this.#sources) {
      this.#sources = []
    } else {
      const isChosen = new Set(sources)
      this.#sources = this.#sources.filter((source) => !isChosen.has(source))
    }
    if (this.isEmpty) this.#isAwaited = false
  }

  clear(): readonly JournalSource[] {
    const sources = this.#sources
    this.remove(sources)
    return sources
  }
}

/** Of a batch of all that the sources have ready. */
export function batchBytes(sources: readonly JournalSource[]): number {
  let bytes = BATCH_HEADER_BYTES
  for (const { readyBytes, readyEntries } of sources) bytes += readyBytes + readyEntries * ROW_BYTES
  return alignedLength(bytes)
}
