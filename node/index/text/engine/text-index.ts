// A text index: one memory segment that takes writes, and segments that do not change.
//
//   apply ──► memory ──(full, or flush)──► frozen ──(flushing)──► segment ─┐
//                                                     segments ──(merging)─┴─► segment
//
// Invariants:
//   I1  A key is live in at most one segment.
//   I2  The manifest names exactly the documents that were live at its checkpoint: deletions that
//       came later are in memory only, and a merge keeps what was deleted after the checkpoint.
//   I3  Searches and writes see no difference between before and after a flush or a merge.
//   I4  A batch is applied document by document: between two steps each is there as it was before
//       or as it is afterwards, and memory is never frozen while one is half added.
//   I5  No file that a view needs is removed before the view is released.
//
// Everything long is in steps. Searches take a snapshot and may come between any two of them; the
// steps of applying come one batch after the other, those of flushing and merging by `maintain`.

import type { Clock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { runAtOnce, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../files/disk-work.ts'
import { Upkeep, type EndMerge } from '../../files/upkeep.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import type { MatchVisitor, SearchRequest, SearchResult } from '../matching/search.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import { keyText } from '../matching/set-query.ts'
import type { TermStatistics } from '../matching/statistics.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import type { DiskPart } from './disk-part.ts'
import { SearchSnapshot } from './search-snapshot.ts'
import type { IndexView } from './index-view.ts'
import { SealedParts } from './sealed-parts.ts'
import { SegmentState } from '../live/segment-state.ts'
import { SegmentStore } from './segment-store.ts'
import {
  defaultTextIndexLimits,
  type TextIndexLimits,
  type TextIndexOptions,
} from './text-index-options.ts'
import { TextMemory } from './text-memory.ts'

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
 * The figures of one index, as its status and metrics show them. Documents that expired still
 * count.
 */
export interface TextIndexStats {
  readonly documents: number
  /** Documents deleted or replaced whose space has not been given back. */
  readonly deleted: number
  readonly segments: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
}

interface MemoryPart {
  readonly live: SegmentState
  readonly segment: MemorySegment
}

/**
 * The inverted index of one shard, written by one thread. Every change and every search happens in
 * that thread; other threads read what `view` describes. A crash loses what came after
 * `checkpoint`, and the caller replays it from the log.
 */
export class TextIndex {
  readonly #store: SegmentStore
  readonly #shared: TextMemory
  readonly #clock: Clock
  readonly #limits: TextIndexLimits
  readonly #parts: SealedParts
  #memory: MemoryPart
  #frozen: MemoryPart | undefined
  #sequence = 0
  #isAdding = false
  #wantsFlush = false
  #isClosed = false
  readonly #upkeep: Upkeep

  /** As `openInSteps`, at once. */
  static open(options: TextIndexOptions): TextIndex {
    return runAtOnce(TextIndex.openInSteps(options))
  }

  /** CORRUPTION if a file is missing or damaged: rebuild into an empty directory. */
  static *openInSteps(options: TextIndexOptions): Paced<TextIndex> {
    const index = new TextIndex(options)
    const manifest = index.#store.readManifest()
    if (manifest === undefined) yield* index.#parts.create()
    else yield* index.#parts.restore(manifest)
    index.#sequence = index.checkpoint
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
    this.#upkeep = new Upkeep(onWork)
    this.#clock = clock
    this.#limits = limits
    this.#shared = memory
    this.#memory = this.#newMemory()
    this.#store = new SegmentStore({ directory, cache: memory.pages, disk })
    const { terms } = memory
    this.#parts = new SealedParts({ store: this.#store, terms, mergePolicy: limits.mergePolicy })
  }

  /** The sequence up to which batches need not be replayed after a crash. */
  get checkpoint(): number {
    return this.#parts.checkpoint
  }

  /** The sequence of the last batch. */
  get sequence(): number {
    return this.#sequence
  }

  /** Bytes of memory that hold documents which are not on disk yet. */
  get unflushedBytes(): number {
    return this.#memory.segment.bytesInMemory + (this.#frozen?.segment.bytesInMemory ?? 0)
  }

  /** Whether a document is half added: then no flush begins. */
  get isAdding(): boolean {
    return this.#isAdding
  }

  get isFlushing(): boolean {
    return this.#upkeep.isFlushing
  }

  /** What the next step of a flush that is under way comes after; undefined if it may come now. */
  get flushWaitsFor(): Promise<void> | undefined {
    return this.#upkeep.flushWaitsFor
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
    // As much again is held already: the writer does the work that `maintain` was not let do.
    const bytesMax = 2 * this.#limits.memorySegmentBytesMax
    while (this.isFlushing && this.#memory.segment.bytesInMemory >= bytesMax) {
      this.maintain(0)
      yield this.flushWaitsFor
    }
    for (const key of deletes) {
      this.assertOpen()
      this.#delete(keyText(key))
      yield
    }
    for (const [i, document] of upserts.entries()) {
      onUpsert?.(i)
      yield* this.#add(document)
    }
    this.assertOpen()
    this.#sequence = sequence
    if (this.#memory.segment.bytesInMemory >= this.#limits.memorySegmentBytesMax) this.beginFlush()
  }

  /** Whether the memory segment is full while the one before is still being flushed. */
  get isFull(): boolean {
    const { memorySegmentBytesMax } = this.#limits
    return this.isFlushing && this.#memory.segment.bytesInMemory >= memorySegmentBytesMax
  }

  /**
   * Brings everything applied to disk, as `maintain` is driven, until not `isFlushing`: the
   * checkpoint is then at least the last batch's sequence. Nothing new happens while a flush is
   * under way; while a document is being added, the flush begins behind it.
   */
  beginFlush(): void {
    if (this.isFlushing || this.#isClosed) return
    this.#wantsFlush = this.#isAdding
    if (this.#isAdding) return
    if (this.checkpoint === this.#sequence && this.#memory.segment.docCount === 0) return
    this.#upkeep.beginFlush(this.#flush())
  }

  /** A flush driven to its end at once. */
  flush(): void {
    this.#finishFlush()
    this.beginFlush()
    this.#finishFlush()
  }

  /** Flushes and merges for about `budgetMs`; answers whether there is more to do that need not wait. */
  maintain(budgetMs: number): boolean {
    if (this.#isClosed) return false
    const endBy: EndMerge = (end) => this.#upkeep.endMerge(end)
    const endMs = this.#clock.monotonicMs() + budgetMs
    do {
      if (!this.#upkeep.step([() => this.#parts.nextMerge(this.#isIdle, endBy)])) return false
    } while (this.#clock.monotonicMs() < endMs)
    return true
  }

  /** For a search that takes more than a step. */
  snapshot(): SearchSnapshot {
    return this.#snapshotOf(this.#parts.all)
  }

  /**
   * A snapshot in two parts: the sealed segments for any thread, and the memory segments for this one. A
   * document of the index is in exactly one of them.
   */
  snapshotInParts(): { readonly view: IndexView; readonly memory: SearchSnapshot } {
    return { view: this.view(), memory: this.#snapshotOf([]) }
  }

  /** The sealed segments for any thread; see `IndexView` and `ViewReader`. */
  view(): IndexView {
    return this.#parts.view()
  }

  #snapshotOf(parts: readonly DiskPart[]): SearchSnapshot {
    const memories = [this.#frozen, this.#memory].filter((part) => part !== undefined)
    const held = memories.filter(({ segment }) => segment.docCount > 0)
    for (const { segment } of parts) segment.file.retain()
    for (const { segment } of held) segment.readers += 1
    const segments = [...parts, ...held].map(({ live }) => live.view())
    return new SearchSnapshot(segments, () => {
      for (const { segment } of parts) segment.file.close()
      for (const { segment } of held) segment.readers -= 1
    })
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

  /**
   * Links the files of a checkpoint into a directory on the same disk, and answers which one it is: the present one,
   * or the next, whose manifest is being made durable.
   */
  linkFiles(directory: string): number {
    return this.#store.link(directory).checkpoint
  }

  stats(): TextIndexStats {
    const states = this.#states()
    const sum = (valueOf: (live: SegmentState) => number): number =>
      states.reduce((total, live) => total + valueOf(live), 0)
    const fileBytes = this.#parts.all.reduce(
      (total, { segment }) => total + segment.file.bytesTotal,
      0,
    )
    const bytesInMemory = sum((live) => live.bytesInMemory) + this.#shared.pages.bytes
    return {
      documents: sum(({ liveCount }) => liveCount),
      deleted: sum(({ log }) => log.length),
      segments: this.#parts.all.length,
      bytesOnDisk: this.#store.isDurable ? fileBytes : 0,
      bytesInMemory: this.#store.isDurable ? bytesInMemory : bytesInMemory + fileBytes,
    }
  }

  /** Closes the files without a flush. The follower replays unflushed changes. */
  close(): void {
    this.#isClosed = true
    this.#upkeep.end()
    this.#parts.close()
  }

  /** A batch, or a flush, may be under way when the index is given up. */
  assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('UNAVAILABLE', 'the text index was closed')
  }

  #newMemory(): MemoryPart {
    const segment = new MemorySegment()
    return { segment, live: new SegmentState(0, segment, this.#shared.terms) }
  }

  #ask<Answer>(question: (snapshot: SearchSnapshot) => Sliced<Answer>): Answer {
    const snapshot = this.snapshot()
    try {
      return runAtOnce(question(snapshot))
    } finally {
      snapshot.release()
    }
  }

  #states(): readonly SegmentState[] {
    const settled = this.#parts.all.map(({ live }) => live)
    if (this.#frozen !== undefined) settled.push(this.#frozen.live)
    return [...settled, this.#memory.live]
  }

  /** I1, I4: the document and the deletion of the one before appear in the same step. */
  *#add(document: IndexableDocument): Sliced<void> {
    const key = keyText(document.key)
    const { segment, live } = this.#memory
    this.#isAdding = true
    const doc = yield* segment.add(key, document)
    this.#isAdding = false
    this.assertOpen()
    const earlier = segment.docOf(key, doc)
    if (earlier >= 0 && !live.isDeleted(earlier)) live.delete(earlier)
    else this.#deleteFrom(this.#settled(), key)
    if (this.#wantsFlush) this.beginFlush()
    yield
  }

  #delete(key: string): void {
    this.#deleteFrom(this.#states(), key)
  }

  #settled(): readonly SegmentState[] {
    return this.#states().slice(0, -1)
  }

  #deleteFrom(states: readonly SegmentState[], key: string): void {
    for (const live of states) {
      const doc = live.liveDocOf(key)
      if (doc < 0) continue
      live.delete(doc)
      return
    }
  }

  #finishFlush(): void {
    while (this.isFlushing) this.maintain(0)
  }

  /** The state at the first step becomes the checkpoint at the last. */
  *#flush(): Paced<void> {
    const frozen = this.#memory
    const sequence = this.#sequence
    const marks = this.#parts.marks()
    frozen.live.checkpointed = frozen.live.log.length
    this.#wantsFlush = false
    this.#frozen = frozen
    this.#memory = this.#newMemory()
    yield
    const written = yield* this.#parts.write([frozen.live])
    this.#frozen = undefined
    yield* this.#parts.add(written?.settle(), sequence, marks)
  }

  /** Whether no document waits to be written. */
  get #isIdle(): boolean {
    return this.#memory.segment.docCount === 0 && this.#frozen === undefined
  }
}
