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
//
// All methods are synchronous: the index lives in a worker. Flushing and merging are generators
// that `maintain` drives for a few milliseconds at a time.

import { must } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { IndexableDocument } from '../indexable-document.ts'
import type { DiskSegment } from '../segment/disk-segment.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import type { Segment } from '../segment/segment.ts'
import { writeSegment, type WrittenSegment } from '../segment/segment-writer.ts'
import { LiveSegment } from './live-segment.ts'
import {
  chooseMerge,
  chooseSettledMerge,
  defaultMergePolicy,
  type MergePolicy,
} from './merge-policy.ts'
import { Poll, type Interrupt } from './poll.ts'
import { collect, search, type MatchVisitor } from '../matching/search.ts'
import type { SearchRequest, SearchResult } from '../matching/search.ts'
import type { MatchRequest } from '../matching/segment-search.ts'
import { SegmentStore, type ManifestSegment } from './segment-store.ts'
import { keyText, matchingTerms, type FieldExpansion } from '../matching/set-query.ts'
import { gatherStatistics, type FieldTerm, type TermStatistics } from '../matching/statistics.ts'
import { TextMemory } from './text-memory.ts'

export interface TextIndexLimits {
  /** A memory segment of this size is flushed. Twice as much is held while that is under way. */
  readonly memorySegmentBytesMax: number
  readonly mergePolicy: MergePolicy
}

export const defaultTextIndexLimits: TextIndexLimits = {
  memorySegmentBytesMax: 32 * 2 ** 20,
  mergePolicy: defaultMergePolicy,
}

export interface TextIndexOptions {
  /** Undefined: nothing is kept on disk (`mem_only`). */
  readonly directory: string | undefined
  readonly clock: Clock
  readonly limits?: TextIndexLimits
  /** Shared with other indexes; default: its own. */
  readonly memory?: TextMemory
}

export interface TextBatch {
  readonly sequence: number
  readonly upserts: readonly IndexableDocument[]
  readonly deletes: readonly Uint8Array[]
}

export interface TextIndexStats {
  readonly documents: number
  /** Documents deleted or replaced whose space has not been given back. */
  readonly deleted: number
  readonly segments: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
}

interface DiskPart {
  readonly live: LiveSegment
  readonly segment: DiskSegment
  deletedGeneration: number
  /** How much of the log the file of that generation covers. */
  persistedDeletes: number
}

export class TextIndex {
  readonly #store: SegmentStore
  readonly #shared: TextMemory
  readonly #clock: Clock
  readonly #limits: TextIndexLimits
  #parts: DiskPart[] = []
  #memory = new MemorySegment()
  #memoryLive: LiveSegment
  #frozen: LiveSegment | undefined
  #sequence = 0
  #checkpoint = 0
  #nextId = 1
  #flushing: Generator<void, void> | undefined
  #merging: Generator<void, void> | undefined

  /** CORRUPTION if a file is missing or damaged: rebuild into an empty directory. */
  static open(options: TextIndexOptions): TextIndex {
    return new TextIndex(options)
  }

  private constructor({
    directory,
    clock,
    limits = defaultTextIndexLimits,
    memory = new TextMemory(),
  }: TextIndexOptions) {
    this.#clock = clock
    this.#limits = limits
    this.#shared = memory
    this.#memoryLive = this.#live(0, this.#memory)
    this.#store = new SegmentStore(directory, memory.pages)
    const manifest = this.#store.readManifest()
    if (manifest === undefined) {
      this.#writeManifest()
      return
    }
    try {
      for (const part of manifest.segments) this.#parts.push(this.#openPart(part))
    } catch (error) {
      this.close()
      throw error
    }
    this.#nextId = manifest.nextId
    this.#checkpoint = manifest.checkpoint
    this.#sequence = manifest.checkpoint
    this.#store.removeStrangers(manifest)
  }

  /** The sequence up to which batches need not be replayed after a crash. */
  get checkpoint(): number {
    return this.#checkpoint
  }

  /** The sequence of the last batch. */
  get sequence(): number {
    return this.#sequence
  }

  /** What is not on disk yet. */
  get unflushedBytes(): number {
    return this.#memory.bytesInMemory + (this.#frozen?.segment.bytesInMemory ?? 0)
  }

  get isFlushing(): boolean {
    return this.#flushing !== undefined
  }

  /**
   * Searchable when it returns. Deletes come before upserts; of one key the last upsert counts.
   * A writer that lets `maintain` work whenever `isFull` never waits for a flush here.
   */
  apply({ sequence, upserts, deletes }: TextBatch): void {
    // As much again is held already: the writer does the work that `maintain` was not let do.
    if (this.#memory.bytesInMemory >= 2 * this.#limits.memorySegmentBytesMax) this.#finishFlush()
    for (const key of deletes) this.#delete(keyText(key))
    for (const document of upserts) {
      const key = keyText(document.key)
      this.#delete(key)
      this.#memory.add(key, document)
    }
    this.#sequence = sequence
    if (this.#memory.bytesInMemory >= this.#limits.memorySegmentBytesMax) this.beginFlush()
  }

  /** Whether the memory segment is full while the one before is still being flushed. */
  get isFull(): boolean {
    const { memorySegmentBytesMax } = this.#limits
    return this.isFlushing && this.#memory.bytesInMemory >= memorySegmentBytesMax
  }

  /**
   * Brings everything applied to disk, as `maintain` is driven, until not `isFlushing`: the
   * checkpoint is then at least the last batch's sequence. Nothing new happens while a flush is
   * under way.
   */
  beginFlush(): void {
    if (this.isFlushing) return
    if (this.#checkpoint === this.#sequence && this.#memory.docCount === 0) return
    this.#flushing = this.#flush()
    this.#flushing.next()
  }

  /** A flush driven to its end at once. */
  flush(): void {
    this.#finishFlush()
    this.beginFlush()
    this.#finishFlush()
  }

  /** Flushes and merges for about `budgetMs`; answers whether there is more to do. */
  maintain(budgetMs: number): boolean {
    const endMs = this.#clock.monotonicMs() + budgetMs
    do {
      const work = this.#flushing ?? this.#nextMerge()
      if (work === undefined) return false
      if (work.next().done === true) this.#forget(work)
    } while (this.#clock.monotonicMs() < endMs)
    return this.#flushing !== undefined || this.#nextMerge() !== undefined
  }

  search(request: SearchRequest): SearchResult {
    return search(this.#segments(), request)
  }

  /** Every match, segment by segment; columns are in `live.segment.field(name).column`. */
  collect(request: MatchRequest, visit: MatchVisitor): void {
    collect(this.#segments(), request, visit)
  }

  /** The terms of a field that match, in all segments. Refuses more than the expansion allows. */
  matchingTerms(expansion: FieldExpansion, interrupt: Interrupt): readonly string[] {
    const segments = this.#segments().map(({ segment }) => segment)
    return [...matchingTerms(segments, expansion, new Poll(interrupt))]
  }

  termStatistics(terms: Iterable<FieldTerm>): TermStatistics {
    return gatherStatistics(this.#segments(), terms)
  }

  stats(): TextIndexStats {
    const segments = this.#segments()
    const sum = (valueOf: (live: LiveSegment) => number): number =>
      segments.reduce((total, live) => total + valueOf(live), 0)
    const fileBytes = this.#parts.reduce((total, { segment }) => total + segment.file.bytesTotal, 0)
    const bytesInMemory = sum((live) => live.bytesInMemory) + this.#shared.pages.bytes
    return {
      documents: sum(({ liveCount }) => liveCount),
      deleted: sum(({ log }) => log.length),
      segments: this.#parts.length,
      bytesOnDisk: this.#store.isDurable ? fileBytes : 0,
      bytesInMemory: this.#store.isDurable ? bytesInMemory : bytesInMemory + fileBytes,
    }
  }

  /** Gives the files up without flushing: what was not flushed is replayed. */
  close(): void {
    this.#flushing?.return()
    this.#merging?.return()
    for (const { segment } of this.#parts) segment.file.close()
    this.#parts = []
  }

  #live(id: number, segment: Segment): LiveSegment {
    return new LiveSegment(id, segment, this.#shared.terms)
  }

  #segments(): readonly LiveSegment[] {
    const settled = this.#parts.map(({ live }) => live)
    if (this.#frozen !== undefined) settled.push(this.#frozen)
    return this.#memory.docCount === 0 ? settled : [...settled, this.#memoryLive]
  }

  #delete(key: string): void {
    for (const live of this.#segments()) {
      const doc = live.liveDocOf(key)
      if (doc < 0) continue
      live.delete(doc)
      return
    }
  }

  #openPart(part: ManifestSegment): DiskPart {
    const segment = this.#store.openSegment(part.id, undefined)
    const live = this.#live(part.id, segment)
    const { deletedGeneration } = part
    if (deletedGeneration > 0) {
      live.restoreDeleted(this.#store.readDeleted(part, segment.docCount))
    }
    return { live, segment, deletedGeneration, persistedDeletes: live.log.length }
  }

  #finishFlush(): void {
    for (const _ of this.#flushing ?? []);
    this.#flushing = undefined
  }

  #forget(work: Generator<void, void>): void {
    if (work === this.#flushing) this.#flushing = undefined
    else this.#merging = undefined
  }

  #nextMerge(): Generator<void, void> | undefined {
    if (this.#merging !== undefined) return this.#merging
    const sizes = this.#parts.map(({ live, segment }) => ({
      id: live.id,
      bytes: segment.file.bytesTotal,
      docCount: segment.docCount,
      // Only what was deleted before the checkpoint can be left out.
      deletedCount: live.checkpointed,
    }))
    const { mergePolicy } = this.#limits
    const isSettled = this.#memory.docCount === 0 && this.#frozen === undefined
    const chosen =
      chooseMerge(sizes, mergePolicy) ??
      (isSettled ? chooseSettledMerge(sizes, mergePolicy) : undefined)
    if (chosen === undefined) return undefined
    this.#merging = this.#merge(this.#parts.filter(({ live }) => chosen.includes(live.id)))
    return this.#merging
  }

  /** The state at the first step becomes the checkpoint at the last. */
  *#flush(): Generator<void, void> {
    const frozen = this.#memoryLive
    const sequence = this.#sequence
    const logLengths = new Map(this.#segments().map((live) => [live.id, live.log.length]))
    frozen.checkpointed = frozen.log.length
    this.#frozen = frozen
    this.#memory = new MemorySegment()
    this.#memoryLive = this.#live(0, this.#memory)
    yield
    const part = yield* this.#write([frozen])
    // No merge ends while a flush is under way, so every segment is one of those at the start.
    for (const { live } of this.#parts) {
      live.checkpointed = must(logLengths.get(live.id), 'a length')
    }
    this.#frozen = undefined
    if (part !== undefined) this.#parts.push(part)
    this.#checkpoint = sequence
    this.#commit()
  }

  *#merge(inputs: readonly DiskPart[]): Generator<void, void> {
    const merged = yield* this.#write(inputs.map(({ live }) => live))
    this.#parts = this.#parts.filter((part) => !inputs.includes(part))
    if (merged !== undefined) this.#parts.push(merged)
    this.#commit()
    for (const { live, segment, deletedGeneration } of inputs) {
      this.#store.removeSegment(segment, { id: live.id, deletedGeneration })
    }
  }

  /** One segment out of several, and what was deleted from them meanwhile; undefined if empty. */
  *#write(inputs: readonly LiveSegment[]): Generator<void, DiskPart | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    const out = this.#store.newOutput(id)
    const starts = inputs.map(({ checkpointed }) => checkpointed)
    const dropped = inputs.map((live) => live.deletedAt(live.checkpointed))
    const sources = inputs.map(({ segment }, i) => ({
      segment,
      isDropped: (doc: number) => ((dropped[i]?.[doc >>> 5] ?? 0) & (1 << (doc & 31))) !== 0,
    }))
    let written: WrittenSegment | undefined
    try {
      written = yield* writeSegment(sources, out)
    } finally {
      if (written === undefined) {
        out.abort()
        this.#store.removeOutput(id)
      }
    }
    if (written.docCount === 0) {
      this.#store.removeOutput(id)
      return undefined
    }
    const segment = this.#store.openSegment(id, written.bytes)
    const live = this.#live(id, segment)
    carryDeletions(inputs, starts, { live, docMaps: written.docMaps })
    return { live, segment, deletedGeneration: 0, persistedDeletes: 0 }
  }

  /** Writes deletions up to the checkpoint, and then the manifest. */
  #commit(): void {
    const obsolete: { id: number; generation: number }[] = []
    for (const part of this.#parts) {
      const { live } = part
      if (live.checkpointed === part.persistedDeletes) continue
      obsolete.push({ id: live.id, generation: part.deletedGeneration })
      part.deletedGeneration += 1
      part.persistedDeletes = live.checkpointed
      this.#store.writeDeleted(live.id, part.deletedGeneration, live.deletedAt(live.checkpointed))
    }
    this.#writeManifest()
    for (const { id, generation } of obsolete) this.#store.removeDeleted(id, generation)
  }

  #writeManifest(): void {
    this.#store.writeManifest({
      version: 1,
      checkpoint: this.#checkpoint,
      nextId: this.#nextId,
      segments: this.#parts.map(({ live, segment, deletedGeneration }) => ({
        id: live.id,
        bytes: segment.file.bytesTotal,
        deletedGeneration,
      })),
    })
  }
}

/** Those of the checkpoint first, as invariant D2 of the live segment wants. */
function carryDeletions(
  inputs: readonly LiveSegment[],
  starts: readonly number[],
  target: { readonly live: LiveSegment; readonly docMaps: readonly Int32Array[] },
): void {
  const carry = (i: number, from: number, to: number): void => {
    const docMap = must(target.docMaps[i], 'the map of an input')
    const log = must(inputs[i], 'an input').log.values
    for (let at = from; at < to; at += 1) target.live.delete(docMap[log[at] ?? 0] ?? -1)
  }
  for (const [i, { checkpointed }] of inputs.entries()) carry(i, starts[i] ?? 0, checkpointed)
  target.live.checkpointed = target.live.log.length
  for (const [i, { checkpointed, log }] of inputs.entries()) carry(i, checkpointed, log.length)
}
