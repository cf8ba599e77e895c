// An index of vectors: a tail in memory that takes writes, and segments that do not change.
//
//   apply ──► tail ──(full, or flush)──► frozen ──(flushing)──► segment ─┐
//                                                   segments ──(merging)─┴─► segment
//
// Invariants:
//   VI1  A key is live in at most one part.
//   VI2  The manifest names exactly the documents that were live at its checkpoint: deletions that came later
//        are in memory only, and a merge keeps what was deleted after the checkpoint.
//   VI3  Searches and writes see no difference between before and after a flush or a merge.
//   VI4  No merge takes the place of its segments while a flush is under way, and a manifest is durable before
//        the next one is begun (UK1 and UK2 of files/upkeep.ts).
//
// Everything long is in steps, and the disk syncs in another thread; searches take a snapshot, and they and writes may
// come between any two steps.

import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import { Upkeep, type EndMerge } from '../../files/upkeep.ts'
import type { OrdinalSet } from '../../host/ordinal-set.ts'
import type { GraphBuilder } from '../building/graph-job.ts'
import { DeletedDocuments, hasDocument } from '../segment/deleted-documents.ts'
import type { DocumentRows } from '../segment/document-rows.ts'
import type { SealedRows } from '../segment/sealed-rows.ts'
import { LiveOrdinals } from './live-ordinals.ts'
import type { Manifest } from './manifest.ts'
import type { MergePolicy } from './merge-policy.ts'
import type { RowsDocument, RowsTail } from './rows-tail.ts'
import { SealedParts } from './sealed-parts.ts'
import type { SegmentStore } from './segment-store.ts'
import { viewOf, type LiveDocuments, type PartView, type VectorPart } from './vector-part.ts'

/** The numbers of an index; a test passes small ones. */
export interface VectorIndexLimits {
  /** A tail of more bytes is flushed. */
  readonly tailBytesMax: number
  /** A tail of more rows is flushed: searches compare with each of them. */
  readonly tailRowsMax: number
  readonly mergePolicy: MergePolicy
}

export const defaultVectorIndexLimits: VectorIndexLimits = {
  tailBytesMax: 16 * 2 ** 20,
  tailRowsMax: 2048,
  mergePolicy: {
    graphRowsMin: 4096,
    settledGraphRowsMin: 1024,
    tierCount: 4,
    listedRowsMin: 4096,
    rowsMax: 500_000,
    deletedRatioMax: 0.2,
    extendedRatio: 1 / 16,
    settledRatio: 1 / 256,
  },
}

/** A tail of an index whose parts are `Rows`. */
export type TailOf<Document extends RowsDocument, Rows extends DocumentRows> = Rows &
  RowsTail<Document>

/** What an index is opened with. What its rows are, the store and the tail say. */
export interface VectorIndexOptions<
  Document extends RowsDocument,
  Rows extends DocumentRows,
  Segment extends Rows & SealedRows,
> {
  readonly store: SegmentStore<Rows, Segment>
  newTail(): TailOf<Document, Rows>
  readonly builder: GraphBuilder
  /** Hears that `maintain` has more to do, after it answered false. */
  readonly onWork: () => void
  readonly limits: VectorIndexLimits
}

/** The figures of an index. Documents that expired still count. */
export interface VectorIndexStats {
  readonly documents: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
}

/** What a search looks at; `release` is called once. */
export interface VectorSnapshot<
  Rows extends DocumentRows = DocumentRows,
  Segment extends Rows = Rows,
> {
  readonly parts: readonly PartView<Rows, Segment>[]
  /** How many live documents there are: those of the filter, or all. */
  readonly liveCount: number
  release(): void
}

/**
 * The vectors of one shard, written and searched by one thread. A crash loses what came after `checkpoint`,
 * and the caller applies it again.
 */
export class VectorIndex<
  Document extends RowsDocument,
  Rows extends DocumentRows,
  Segment extends Rows & SealedRows,
> {
  readonly #with: VectorIndexOptions<Document, Rows, Segment>
  readonly #store: SegmentStore<Rows, Segment>
  readonly #ordinals = new LiveOrdinals()
  readonly #parts: SealedParts<Rows, Segment>
  #tail: LiveDocuments<TailOf<Document, Rows>>
  #frozen: LiveDocuments<TailOf<Document, Rows>> | undefined
  #sequence = 0
  #isClosed = false
  /** The last flush began because the tail was full: there is more to come. */
  #isFilling = false
  readonly #upkeep: Upkeep

  constructor(options: VectorIndexOptions<Document, Rows, Segment>) {
    this.#with = options
    const { store, builder, limits } = options
    this.#store = store
    this.#parts = new SealedParts({ store, builder, mergePolicy: limits.mergePolicy })
    this.#upkeep = new Upkeep(options.onWork)
    this.#tail = this.#newTail()
  }

  /**
   * Reads the checkpoint, before anything else is done. CORRUPTION if a file is missing or damaged, or the index
   * has other settings: build it again.
   */
  *restore(): Paced<void> {
    const manifest = this.#store.readManifest()
    if (manifest === undefined) yield* this.#parts.commit(0)
    else yield* this.#restore(manifest)
  }

  get checkpoint(): number {
    return this.#parts.checkpoint
  }

  get unflushedBytes(): number {
    return this.#tail.rows.bytesInMemory + (this.#frozen?.rows.bytesInMemory ?? 0)
  }

  get isFlushing(): boolean {
    return this.#upkeep.isFlushing
  }

  /** What the next step of a flush that is under way comes after; undefined if it may come now. */
  get flushWaitsFor(): Promise<void> | undefined {
    return this.#upkeep.flushWaitsFor
  }

  /** Whether the tail is full while the one before is still being flushed: writers do that work then. */
  get isFull(): boolean {
    return this.isFlushing && this.#isTailFull
  }

  /** The sequence that all changes up to now are of. */
  setSequence(sequence: number): void {
    this.assertOpen()
    this.#sequence = sequence
    if (!this.#isTailFull) return
    this.beginFlush()
    this.#isFilling = true
  }

  /** In one step: the document is found from then on, and the one that it replaces no longer. */
  put(document: Document): void {
    this.delete(document.key)
    this.#tail.rows.add(document)
    this.#ordinals.add(document.ordinal)
  }

  delete(key: Uint8Array): void {
    this.assertOpen()
    for (const { rows, deleted } of this.#lives()) {
      const doc = rows.docOf(key, (one) => deleted.has(one))
      if (doc < 0) continue
      deleted.add(doc)
      this.#ordinals.delete(rows.ordinalOf(doc))
      return
    }
  }

  /** What was applied becomes the checkpoint, as `maintain` is driven, until not `isFlushing`. */
  beginFlush(): void {
    this.#isFilling = false
    if (this.isFlushing || this.#isClosed) return
    if (this.checkpoint === this.#sequence && this.#tail.rows.docCount === 0) return
    this.#upkeep.beginFlush(this.#flush())
  }

  /** One step of a flush or a merge; answers whether there is another one that need not wait. */
  maintain(): boolean {
    if (this.#isClosed) return false
    const endBy: EndMerge = (end) => this.#upkeep.endMerge(end)
    return this.#upkeep.step([
      () => this.#parts.nextMerge(this.#isIdle, endBy),
      () => this.#parts.nextListed(endBy),
    ])
  }

  snapshot(filter: OrdinalSet | undefined): VectorSnapshot<Rows, Segment> {
    this.assertOpen()
    const segments = this.#parts.all.map(({ rows }) => rows)
    for (const segment of segments) segment.retain()
    const sealed = this.#parts.all.map((part) => viewOf<Rows, Segment>(part, part.rows))
    const tails = [this.#frozen, this.#tail].filter((part) => part !== undefined)
    const parts = [...sealed, ...tails.map((part) => viewOf<Rows, Segment>(part))]
    return {
      parts: parts.filter(({ liveCount }) => liveCount > 0),
      liveCount: filter === undefined ? this.#liveCount() : this.#ordinals.countOf(filter),
      release() {
        for (const segment of segments) segment.close()
      },
    }
  }

  /**
   * Links the files of a checkpoint into a directory on the same disk, and answers which one it is: the present one,
   * or the next, whose manifest is being made durable.
   */
  linkFiles(directory: string): number {
    return this.#store.link(directory)
  }

  stats(): VectorIndexStats {
    const sum = (valueOf: (part: VectorPart<Segment>) => number): number =>
      this.#parts.all.reduce((total, part) => total + valueOf(part), 0)
    const sealed = sum(({ rows, deleted }) => rows.bytesInMemory + deleted.bytesInMemory)
    return {
      documents: this.#liveCount(),
      bytesOnDisk: sum(({ rows }) => rows.bytesOnDisk),
      bytesInMemory: sealed + this.unflushedBytes + this.#ordinals.bytesInMemory,
    }
  }

  /** Closes the files without a flush. */
  close(): void {
    this.#isClosed = true
    this.#upkeep.end()
    this.#parts.close()
  }

  /** A change, or a flush, may be under way when the index is given up. */
  assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('UNAVAILABLE', 'the index of vectors was closed')
  }

  get #isTailFull(): boolean {
    const { bytesInMemory, rowCount } = this.#tail.rows
    const { tailBytesMax, tailRowsMax } = this.#with.limits
    return bytesInMemory >= tailBytesMax || rowCount >= tailRowsMax
  }

  /** Nothing waits to be written, and nothing is expected soon. */
  get #isIdle(): boolean {
    return !this.#isFilling && this.#tail.rows.docCount === 0 && this.#frozen === undefined
  }

  #newTail(): LiveDocuments<TailOf<Document, Rows>> {
    return { rows: this.#with.newTail(), deleted: new DeletedDocuments() }
  }

  /** The newest first. */
  #lives(): readonly LiveDocuments[] {
    const frozen = this.#frozen === undefined ? [] : [this.#frozen]
    return [this.#tail, ...frozen, ...this.#parts.all]
  }

  #liveCount(): number {
    return this.#lives().reduce((sum, { rows, deleted }) => sum + rows.docCount - deleted.count, 0)
  }

  *#restore(manifest: Manifest): Sliced<void> {
    try {
      yield* this.#parts.restore(manifest, (part) => this.#learnOrdinals(part))
    } catch (error) {
      this.close()
      throw error
    }
    this.#sequence = manifest.checkpoint
  }

  *#learnOrdinals({ rows, checkpointed }: VectorPart<Segment>): Sliced<void> {
    for (let doc = 0; doc < rows.docCount; doc += 1) {
      if (!hasDocument(checkpointed, doc)) this.#ordinals.add(rows.ordinalOf(doc))
      if (doc % LEARNT_PER_STEP === 0) yield
    }
  }

  /** The state at the first step becomes the checkpoint at the last. */
  *#flush(): Paced<void> {
    const frozen = this.#tail
    const sequence = this.#sequence
    const inputs = [{ rows: frozen.rows, without: frozen.deleted.view() }]
    const order = { inputs, makes: 'rows', base: undefined } as const
    const marks = this.#parts.marks()
    this.#frozen = frozen
    this.#tail = this.#newTail()
    yield
    const written = yield* this.#parts.write(order)
    this.#frozen = undefined
    if (written !== undefined) this.#parts.add(written, [{ ...frozen, checkpointed: undefined }])
    // VI4: the parts are those of the first step.
    yield* this.#parts.commit(sequence, marks)
  }
}

const LEARNT_PER_STEP = 4096
