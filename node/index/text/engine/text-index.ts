// A text index: the documents of a shard in a segmented index, searched by their terms. Documents are added in steps, because
// one may have many thousands of terms.

import type { Clock } from '../../../../lib/clock.ts'
import { runAtOnce, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../files/disk-work.ts'
import { SegmentedIndex, type SegmentedStats } from '../../segments/segmented-index.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import type { SegmentState } from '../live/segment-state.ts'
import type { MatchVisitor, SearchRequest, SearchResult } from '../matching/search.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import { keyText } from '../matching/set-query.ts'
import type { TermStatistics } from '../matching/statistics.ts'
import { describeSegment, type IndexView } from './index-view.ts'
import { SearchSnapshot } from './search-snapshot.ts'
import {
  defaultTextIndexLimits,
  type TextIndexLimits,
  type TextIndexOptions,
} from './text-index-options.ts'
import { TextMemory } from './text-memory.ts'
import { TextSegments, type DiskPart, type MemoryPart, type TextListed } from './text-segments.ts'

/**
 * Changes of one sequence. Sequences ascend from batch to batch; deletes are keys. A batch may be
 * applied a second time after a crash: the outcome is the same.
 */
export interface TextBatch {
  readonly sequence: number
  readonly upserts: readonly IndexableDocument[]
  readonly deletes: readonly Uint8Array[]
  /** Hears which of the upserts is begun. */
  readonly onUpsert?: (number: number) => void
}

/**
 * The inverted index of one shard, written by one thread. Every change and every search happens in
 * that thread; other threads read what `view` describes.
 */
export class TextIndex extends SegmentedIndex<MemoryPart, DiskPart, TextListed, undefined> {
  readonly #shared: TextMemory
  readonly #clock: Clock
  readonly #limits: TextIndexLimits
  #viewGeneration = 0

  /** As `openInSteps`, at once. */
  static open(options: TextIndexOptions): TextIndex {
    return runAtOnce(TextIndex.openInSteps(options))
  }

  /** CORRUPTION if a file is missing or damaged: rebuild into an empty directory. */
  static *openInSteps(options: TextIndexOptions): Paced<TextIndex> {
    const index = new TextIndex(options)
    yield* index.restore()
    return index
  }

  private constructor({
    directory,
    clock,
    limits = defaultTextIndexLimits,
    memory = new TextMemory(),
    disk = DISK_WORK_HERE,
    onWork = () => undefined,
  }: TextIndexOptions) {
    super(new TextSegments({ directory, disk, memory, limits }), onWork)
    this.#clock = clock
    this.#limits = limits
    this.#shared = memory
  }

  /** As `applyInSteps`, at once. */
  apply(batch: TextBatch): void {
    runAtOnce(this.applyInSteps(batch))
  }

  /**
   * Each document is searchable when it is applied. Deletes come before upserts; of one key the
   * last upsert counts. One batch at a time.
   */
  *applyInSteps({ sequence, upserts, deletes, onUpsert }: TextBatch): Paced<void> {
    // Two full segments are in memory: the writer does the work for which `maintain` was not called.
    const bytesMax = 2 * this.#limits.memorySegmentBytesMax
    while (this.isFlushing && this.memory.source.bytesInMemory >= bytesMax) {
      this.maintain()
      yield this.flushWaitsFor
    }
    for (const key of deletes) {
      this.#delete(keyText(key), this.newestFirst)
      yield
    }
    for (const [i, document] of upserts.entries()) {
      onUpsert?.(i)
      yield* this.#put(document)
    }
    this.setSequence(sequence)
  }

  /** A flush driven to its end at once. */
  flush(): void {
    this.#finishFlush()
    this.beginFlush()
    this.#finishFlush()
  }

  /** Flushes and merges for about `budgetMs`, and for one step at least. */
  override maintain(budgetMs = 0): boolean {
    const endMs = this.#clock.monotonicMs() + budgetMs
    do {
      if (!super.maintain()) return false
    } while (this.#clock.monotonicMs() < endMs)
    return true
  }

  /** For a search that takes more than a step. */
  snapshot(): SearchSnapshot {
    const release = this.hold()
    return this.#snapshotOf(
      this.sealed.map(({ live }) => live),
      release,
    )
  }

  /**
   * A snapshot in two parts: the sealed segments for any thread, and the memory segments for this one. A
   * document of the index is in exactly one of them.
   */
  snapshotInParts(): { readonly view: IndexView; readonly memory: SearchSnapshot } {
    return { view: this.view(), memory: this.#snapshotOf([], () => undefined) }
  }

  /** The sealed segments for any thread; see `IndexView` and `ViewReader`. */
  view(): IndexView {
    const release = this.hold()
    this.#viewGeneration += 1
    const segments = this.sealed.map(({ live }) => describeSegment(live))
    return { description: { generation: this.#viewGeneration, segments }, release }
  }

  /** For a search in one step. */
  search(request: SearchRequest): SearchResult {
    return this.#ask((snapshot) => snapshot.search(request))
  }

  collect(request: MatchRequest, visit: MatchVisitor): void {
    this.#ask((snapshot) => snapshot.collect(request, visit))
  }

  queryStatistics(query: EngineQuery): TermStatistics {
    return this.#ask((snapshot) => snapshot.queryStatistics(query))
  }

  override stats(): SegmentedStats {
    const stats = super.stats()
    return { ...stats, bytesInMemory: stats.bytesInMemory + this.#shared.pages.bytes }
  }

  #snapshotOf(sealed: readonly DiskPart[], release: () => void): SearchSnapshot {
    const held = this.unsealed.filter(({ source }) => source.docCount > 0)
    for (const { source } of held) source.readers += 1
    const segments = [...sealed, ...held].map((part) => part.view())
    return new SearchSnapshot(segments, () => {
      release()
      for (const { source } of held) source.readers -= 1
    })
  }

  #ask<Answer>(question: (snapshot: SearchSnapshot) => Sliced<Answer>): Answer {
    const snapshot = this.snapshot()
    try {
      return runAtOnce(question(snapshot))
    } finally {
      snapshot.release()
    }
  }

  *#put(document: IndexableDocument): Sliced<void> {
    const key = keyText(document.key)
    const { memory } = this
    yield* this.add(memory.source.add(key, document), (doc) => {
      const earlier = memory.source.docOf(key, doc)
      if (earlier >= 0 && !memory.isDeleted(earlier)) memory.delete(earlier)
      else this.#delete(key, this.newestFirst.slice(1))
    })
    yield
  }

  #delete(key: string, parts: readonly SegmentState[]): void {
    this.deleteFrom(parts, (part) => part.liveDocOf(key))
  }

  #finishFlush(): void {
    while (this.isFlushing) this.maintain()
  }
}
