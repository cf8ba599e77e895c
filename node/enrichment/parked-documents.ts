// The parked documents of one index on one shard, found by their marks.

import { SliceClock } from '../../lib/sliced.ts'
import type { Clock } from '../../lib/clock.ts'
import { decodeArtifact } from '../embedding/artifact.ts'
import type { ParkedCause } from '../shard/command/enrich-command.ts'
import type { ParkedDocument } from '../shard/following/shard-enrichers.ts'
import { artifactKey, indexedRange, parkedKey, parseIndexedKey } from '../shard/format/keyspace.ts'
import { decodeParkedMark } from '../shard/format/parked-mark.ts'
import type { KvEntry, KvRange, KvStore } from '../storage/kv-store.ts'

/** Marks read at once: their documents may wait for long, and an open walk keeps old data on the disk. */
const PAGE_KEYS = 1000
/** Counting takes at most this part of the time. */
const COUNTING_SHARE = 0.01

interface Mark {
  readonly key: Buffer
  readonly cause: ParkedCause
}

/** Counts and lists what is parked. */
export class ParkedDocuments {
  readonly #store: KvStore
  readonly #index: string
  readonly #clock: Clock
  #counts: Record<ParkedCause, number> = { refused: 0, unreachable: 0 }
  #countedAtMs = -Infinity
  #countingMs = 0
  #counting: Promise<void> | undefined
  /** Documents that were parked since the last look began. */
  #parkedSince = 0

  constructor(store: KvStore, index: string, clock: Clock) {
    this.#store = store
    this.#index = index
    this.#clock = clock
  }

  /** As `counts` has answered, with what was parked since then. A later look may find less. */
  get count(): number {
    // Documents that changed have lost their marks since.
    if (this.#known > 0) void this.counts().catch(() => undefined)
    return this.#known
  }

  get #known(): number {
    return this.#counts.refused + this.#counts.unreachable + this.#parkedSince
  }

  /** Whether the document has a mark. It costs nothing where there are none. */
  has(key: Buffer): boolean {
    const mayHave = this.#countedAtMs === -Infinity || this.#known > 0
    return mayHave && this.#store.get(parkedKey(this.#index, key)) !== undefined
  }

  /** A document was parked. */
  note(): void {
    this.#parkedSince += 1
  }

  /** The current count, or the last one where counting takes long. */
  async counts(): Promise<Readonly<Record<ParkedCause, number>>> {
    const nowMs = this.#clock.monotonicMs()
    const isDue = nowMs - this.#countedAtMs >= this.#countingMs / COUNTING_SHARE
    if (isDue) {
      this.#counting ??= this.#count().finally(() => {
        this.#counting = undefined
      })
      await this.#counting
    }
    return this.#counts
  }

  /** The first ones, by their keys. */
  async list(max: number): Promise<readonly ParkedDocument[]> {
    const found: ParkedDocument[] = []
    if (max === 0) return found
    for await (const { key } of this.marks()) {
      const stored = this.#store.get(artifactKey(this.#index, key))
      const artifact = stored && decodeArtifact(stored)
      if (artifact?.kind !== 'parked') continue
      const { attempts, texts } = artifact
      found.push({ key, attempts, error: texts?.error ?? '' })
      if (found.length >= max) break
    }
    return found
  }

  /** All marks, in the order of their keys. The caller may take long between two of them. */
  async *marks(): AsyncGenerator<Mark, undefined> {
    const { gte, lt } = indexedRange('parked', this.#index)
    for (let range: KvRange = { gte, lt, limit: PAGE_KEYS }; ;) {
      const pages: readonly (readonly KvEntry[])[] = await Array.fromAsync(this.#store.pages(range))
      const page = pages.flat()
      for (const [stored, mark] of page) {
        yield { key: Buffer.from(parseIndexedKey(stored).key), cause: decodeParkedMark(mark) }
      }
      const last = page.at(-1)?.[0]
      if (last === undefined) return
      range = { gt: last, lt, limit: PAGE_KEYS }
    }
  }

  async #count(): Promise<void> {
    const beganAtMs = this.#clock.monotonicMs()
    const slice = new SliceClock(this.#clock)
    const counts = { refused: 0, unreachable: 0 }
    const parkedBefore = this.#parkedSince
    for await (const { cause } of this.marks()) {
      counts[cause] += 1
      if (slice.isOver) await slice.turn()
    }
    this.#counts = counts
    this.#parkedSince -= parkedBefore
    this.#countedAtMs = this.#clock.monotonicMs()
    this.#countingMs = this.#countedAtMs - beganAtMs
  }
}
