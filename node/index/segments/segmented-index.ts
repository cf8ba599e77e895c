// An index of one shard: a part in memory that takes writes, and sealed segments that do not change. What a part is, a
// kind of index says (segment-kind.ts).
//
//   add, delete ──► memory ──(full, or flush)──► frozen ──(flushing)──► segment ─┐
//                                                        segments ──(merging)─┴─► segment
//
//   segmented-index   the life of the parts: what is written where, when a flush begins
//   sealed-parts      which segments there are, their merges, the manifest of each checkpoint
//   live-part         a part and its deletions, also those that come while it is merged
//   held-segment      a segment as long as somebody reads it
//   segment-files     manifest, deletions, links, what a crash has left; what they are called, segment-format says
//   segmented-engine  the half of an engine (host/index-engine.ts) that is the same for every kind
//
// Invariants:
//   SI1  A key is live in at most one part.
//   SI2  The manifest names exactly the documents that were live at its checkpoint: deletions that came later are in
//        memory only, and a merge keeps what was deleted after the checkpoint.
//   SI3  Searches and writes see no difference between before and after a flush or a merge.
//   SI4  No merge takes the place of its segments while a flush is under way, and a manifest is durable before the
//        next one is begun (UK1 and UK2 of files/upkeep.ts).
//   SI5  No file that somebody reads, here or in another thread, is removed before its last reader has closed it.
//   SI6  Between two steps each document is there as it was before or as it is afterwards, and memory is never frozen while
//        one is half added.
//
// Everything long is in steps, and the disk syncs in another thread. Searches take a snapshot, and they and writes may
// come between any two steps.

import { ServiceError } from '../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import { Upkeep, type EndMerge } from '../files/upkeep.ts'
import type { HeldSegment } from './held-segment.ts'
import type { LivePart } from './live-part.ts'
import { SealedParts } from './sealed-parts.ts'
import type { ListedSegment } from './segment-format.ts'
import type { SealedPart, SegmentKind } from './segment-kind.ts'

/** The figures of one index, as its status and metrics show them. Documents that expired still count. */
export interface SegmentedStats {
  readonly documents: number
  /** Documents deleted or replaced whose space has not been given back. */
  readonly deleted: number
  readonly segments: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
}

/** What was deleted: a document of a part. */
export interface DeletedDocument<Part> {
  readonly part: Part
  readonly doc: number
}

/**
 * The documents of one index, written by one thread. A crash loses what came after `checkpoint`, and the caller applies
 * it again: the outcome is the same.
 */
export class SegmentedIndex<
  Memory extends LivePart,
  Live extends LivePart<HeldSegment>,
  Listed extends ListedSegment,
  Plan,
> {
  readonly #kind: SegmentKind<Memory, Live, Listed, Plan>
  readonly #parts: SealedParts<Memory, Live, Listed, Plan>
  readonly #upkeep: Upkeep
  #memory: Memory
  #frozen: Memory | undefined
  #sequence = 0
  #isAdding = false
  #wantsFlush = false
  /** The last flush began because memory was full: there is more to come. */
  #isFilling = false
  #isClosed = false

  /** `onWork` hears that `maintain` has more to do, after it answered false. */
  constructor(kind: SegmentKind<Memory, Live, Listed, Plan>, onWork: () => void) {
    this.#kind = kind
    this.#parts = new SealedParts(kind)
    this.#upkeep = new Upkeep(onWork)
    this.#memory = kind.newMemory()
  }

  /** Reads the checkpoint, before anything else is done. CORRUPTION if a file is missing or damaged: build it again. */
  *restore(): Paced<void> {
    yield* this.#parts.restore()
    this.#sequence = this.checkpoint
  }

  /** The sequence up to which changes need not be applied again after a crash. */
  get checkpoint(): number {
    return this.#parts.checkpoint
  }

  /** The sequence that all changes up to now are of. */
  get sequence(): number {
    return this.#sequence
  }

  /** Bytes of memory that hold documents which are not on disk yet. */
  get unflushedBytes(): number {
    return this.unsealed.reduce((sum, { source }) => sum + source.bytesInMemory, 0)
  }

  get isDurable(): boolean {
    return this.#kind.files.isDurable
  }

  /** Whether a document is half added: then no flush begins. */
  get isAdding(): boolean {
    return this.#isAdding
  }

  get isFlushing(): boolean {
    return this.#upkeep.isFlushing
  }

  /** What a flush waits for before its next step; undefined if the step can be done now. */
  get flushWaitsFor(): Promise<void> | undefined {
    return this.#upkeep.flushWaitsFor
  }

  /** Whether memory is full while that before is still being flushed: writers do that work then. */
  get isFull(): boolean {
    return this.isFlushing && this.#kind.isFull(this.#memory)
  }

  setSequence(sequence: number): void {
    this.assertOpen()
    this.#sequence = sequence
    if (!this.#kind.isFull(this.#memory)) return
    this.beginFlush()
    this.#isFilling = true
  }

  /**
   * Brings everything applied to disk, as `maintain` is driven, until not `isFlushing`: the checkpoint is then at least
   * `sequence`. Nothing new happens while a flush is under way; while a document is being added, the flush begins behind it.
   */
  beginFlush(): void {
    this.#isFilling = false
    if (this.isFlushing || this.#isClosed) return
    this.#wantsFlush = this.#isAdding
    if (this.#isAdding) return
    if (this.checkpoint === this.#sequence && this.#memory.source.docCount === 0) return
    this.#upkeep.beginFlush(this.#flush())
  }

  /** Does one step of a flush or a merge; answers whether the next step need not wait. */
  maintain(): boolean {
    if (this.#isClosed) return false
    const endBy: EndMerge = (end) => this.#upkeep.endMerge(end)
    const isIdle = this.#memory.source.docCount === 0 && this.#frozen === undefined
    return this.#upkeep.step(this.#parts.nextMerges({ isIdle, isFilling: this.#isFilling }, endBy))
  }

  /** Links the files of the checkpoint that it answers: the present one, or the next, whose manifest is being made durable. */
  linkFiles(directory: string): number {
    return this.#kind.files.link(directory)
  }

  stats(): SegmentedStats {
    const lives = this.newestFirst
    const sum = (valueOf: (part: LivePart) => number): number =>
      lives.reduce((total, part) => total + valueOf(part), 0)
    return {
      documents: sum(({ liveCount }) => liveCount),
      deleted: sum(({ log }) => log.length),
      segments: this.sealed.length,
      bytesOnDisk: this.sealed.reduce((total, { live }) => total + live.source.bytesOnDisk, 0),
      bytesInMemory: sum(({ bytesInMemory }) => bytesInMemory),
    }
  }

  /** Closes the files without a flush. Snapshots stay good. */
  close(): void {
    this.#isClosed = true
    this.#upkeep.end()
    this.#parts.close()
  }

  /** A change, or a flush, may be under way when the index is given up. */
  assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('UNAVAILABLE', 'the index was closed')
  }

  protected get memory(): Memory {
    return this.#memory
  }

  /** The parts in memory, the older one first. */
  protected get unsealed(): readonly Memory[] {
    return this.#frozen === undefined ? [this.#memory] : [this.#frozen, this.#memory]
  }

  protected get sealed(): readonly SealedPart<Live, Listed>[] {
    return this.#parts.all
  }

  /** Each change asks for it. */
  protected get newestFirst(): readonly (Memory | Live)[] {
    const parts: (Memory | Live)[] = [this.#memory]
    if (this.#frozen !== undefined) parts.push(this.#frozen)
    for (const { live } of this.#parts.all) parts.push(live)
    return parts
  }

  /** Holds the sealed segments for a search until the callback is called, which it may be more than once (SI5). */
  protected hold(): () => void {
    const held = this.sealed.map(({ live }) => live.source)
    for (const segment of held) segment.retain()
    return () => {
      for (const segment of held.splice(0)) segment.close()
    }
  }

  /** Deletes from the first part that has a document, whose number `docIn` answers; -1 for none (SI1). */
  protected deleteFrom<Part extends LivePart>(
    parts: readonly Part[],
    docIn: (part: Part) => number,
  ): DeletedDocument<Part> | undefined {
    this.assertOpen()
    for (const part of parts) {
      const doc = docIn(part)
      if (doc < 0) continue
      part.delete(doc)
      return { part, doc }
    }
    return undefined
  }

  /** SI6: `onAdded` deletes the document before in the step that makes this one appear. */
  protected *add(adding: Sliced<number>, onAdded: (doc: number) => void): Sliced<void> {
    this.#isAdding = true
    const doc = yield* adding
    this.#isAdding = false
    this.assertOpen()
    onAdded(doc)
    if (this.#wantsFlush) this.beginFlush()
  }

  /** The state at the first step becomes the checkpoint at the last. */
  *#flush(): Paced<void> {
    const frozen = this.#memory
    const sequence = this.#sequence
    const marks = this.#parts.marks()
    frozen.checkpointed = frozen.log.length
    this.#wantsFlush = false
    this.#frozen = frozen
    this.#memory = this.#kind.newMemory()
    yield
    const written = yield* this.#parts.write([frozen])
    this.#frozen = undefined
    yield* this.#parts.add(written, sequence, marks)
  }
}
