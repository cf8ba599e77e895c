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

import { must } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import { Upkeep } from '../../files/upkeep.ts'
import type { OrdinalSet } from '../../host/ordinal-set.ts'
import type { BuiltGraph, GraphBuilder, GraphJob } from '../building/graph-job.ts'
import { DeletedDocuments, hasDocument, newDocumentBits } from '../segment/deleted-documents.ts'
import type { DocumentRows } from '../segment/document-rows.ts'
import type { SealedRows } from '../segment/sealed-rows.ts'
import { LiveOrdinals } from './live-ordinals.ts'
import type { Manifest, ManifestSegment } from './manifest.ts'
import {
  chooseMerge,
  chooseListed,
  type MergeChoice,
  type MergePolicy,
  type SegmentKind,
  type SegmentSize,
} from './merge-policy.ts'
import type { RowsDocument, RowsTail } from './rows-tail.ts'
import type { SegmentOrder, SegmentStore, WrittenSegment } from './segment-store.ts'
import {
  markCheckpoint,
  newPart,
  partOf,
  viewOf,
  type FormerPart,
  type LiveDocuments,
  type PartView,
  type VectorPart,
} from './vector-part.ts'

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
    listedRowsMin: 2048,
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
  #parts: VectorPart<Segment>[] = []
  /** Those that a merge has chosen. */
  readonly #merging = new Set<VectorPart<Segment>>()
  #tail: LiveDocuments<TailOf<Document, Rows>>
  #frozen: LiveDocuments<TailOf<Document, Rows>> | undefined
  #sequence = 0
  #checkpoint = 0
  #nextId = 1
  #isClosed = false
  /** The last flush began because the tail was full: there is more to come. */
  #isFilling = false
  readonly #upkeep: Upkeep

  constructor(options: VectorIndexOptions<Document, Rows, Segment>) {
    this.#with = options
    this.#store = options.store
    this.#upkeep = new Upkeep(options.onWork)
    this.#tail = this.#newTail()
  }

  /**
   * Reads the checkpoint, before anything else is done. CORRUPTION if a file is missing or damaged, or the index
   * has other settings: build it again.
   */
  *restore(): Paced<void> {
    const manifest = this.#store.readManifest()
    if (manifest === undefined) yield* this.#writeManifest(this.#checkpoint)
    else yield* this.#restore(manifest)
  }

  get checkpoint(): number {
    return this.#checkpoint
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
    if (this.#checkpoint === this.#sequence && this.#tail.rows.docCount === 0) return
    this.#upkeep.beginFlush(this.#flush())
  }

  /** One step of a flush or a merge; answers whether there is another one that need not wait. */
  maintain(): boolean {
    if (this.#isClosed) return false
    return this.#upkeep.step([() => this.#nextMerge(), () => this.#nextListed()])
  }

  snapshot(filter: OrdinalSet | undefined): VectorSnapshot<Rows, Segment> {
    this.assertOpen()
    const segments = this.#parts.map(({ rows }) => rows)
    for (const segment of segments) segment.retain()
    const sealed = this.#parts.map((part) => viewOf<Rows, Segment>(part, part.rows))
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
      this.#parts.reduce((total, part) => total + valueOf(part), 0)
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
    for (const { rows } of this.#parts) rows.close()
    this.#parts = []
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

  #newTail(): LiveDocuments<TailOf<Document, Rows>> {
    return { rows: this.#with.newTail(), deleted: new DeletedDocuments() }
  }

  /** The newest first. */
  #lives(): readonly LiveDocuments[] {
    const frozen = this.#frozen === undefined ? [] : [this.#frozen]
    return [this.#tail, ...frozen, ...this.#parts]
  }

  #liveCount(): number {
    return this.#lives().reduce((sum, { rows, deleted }) => sum + rows.docCount - deleted.count, 0)
  }

  *#restore(manifest: Manifest): Sliced<void> {
    try {
      for (const listed of manifest.segments) {
        const deleted = yield* this.#store.readDeleted(listed)
        const part = newPart(yield* this.#store.open(listed), listed, deleted)
        this.#parts.push(part)
        yield* this.#learnOrdinals(part)
      }
    } catch (error) {
      this.close()
      throw error
    }
    this.#nextId = manifest.nextId
    this.#checkpoint = manifest.checkpoint
    this.#sequence = manifest.checkpoint
    this.#store.removeUnlisted(manifest.segments)
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
    const marks = this.#parts.map((part) => {
      return { part, bits: part.deleted.view(), count: part.deleted.count }
    })
    this.#frozen = frozen
    this.#tail = this.#newTail()
    yield
    const written = yield* this.#write(order)
    // VI4: the parts are those of the first step.
    for (const { part, bits, count } of marks) markCheckpoint(part, bits, count)
    this.#frozen = undefined
    if (written !== undefined) this.#add(written, [{ ...frozen, checkpointed: undefined }])
    yield* this.#commit(sequence)
    this.#checkpoint = sequence
  }

  #nextMerge(): Paced<void> | undefined {
    const isEmpty = this.#tail.rows.docCount === 0 && this.#frozen === undefined
    const isSettled = isEmpty && !this.#isFilling && this.#merging.size === 0
    const { mergePolicy } = this.#with.limits
    const policy = this.#canExtend ? mergePolicy : { ...mergePolicy, ...REWRITTEN }
    const chosen = chooseMerge(this.#idleSizes(), policy, isSettled)
    return chosen && this.#merge(chosen)
  }

  /** Beside a merge that waits for its graph. */
  #nextListed(): Paced<void> | undefined {
    if (!this.#canExtend) return undefined
    const chosen = chooseListed(this.#idleSizes(), this.#with.limits.mergePolicy)
    return chosen && this.#merge(chosen)
  }

  /** The sizes of the segments that no merge has chosen. */
  #idleSizes(): readonly SegmentSize[] {
    const idle = this.#parts.filter((part) => !this.#merging.has(part))
    return idle.map(({ rows, checkpointedCount }) => {
      const { id, rowCount, docCount, isIndexed, isListed } = rows
      const hasGraph = isIndexed || !this.#store.hasGraphs
      const size = { id, rowCount, docCount, deletedCount: checkpointedCount }
      return { ...size, hasGraph, hasLists: isListed }
    })
  }

  /** Without files, or without graphs, all rows are written again. */
  get #canExtend(): boolean {
    return this.#store.isDurable && this.#store.hasGraphs
  }

  #merge({ ids, base, makes }: MergeChoice): Paced<void> {
    const partOfId = (id: number): VectorPart<Segment> => {
      return must(
        this.#parts.find(({ rows }) => rows.id === id),
        'a chosen segment',
      )
    }
    const inputs = ids.map(partOfId)
    for (const part of inputs) this.#merging.add(part)
    const extended = this.#canExtend && base !== undefined ? partOfId(base).rows : undefined
    return this.#mergeParts(inputs, makes, extended)
  }

  *#mergeParts(
    inputs: readonly VectorPart<Segment>[],
    makes: SegmentKind,
    base: Segment | undefined,
  ): Paced<void> {
    let written: WrittenSegment<Segment> | undefined
    try {
      written = yield* this.#write({
        inputs: inputs.map(({ rows, checkpointed }) => {
          return { rows, without: rows === base ? NO_DOCUMENTS : checkpointed }
        }),
        makes: this.#store.hasGraphs ? makes : 'rows',
        base,
      })
      this.#parts = this.#parts.filter((part) => !inputs.includes(part))
      if (written !== undefined) this.#add(written, inputs)
      yield* this.#upkeep.endMerge(this.#commit(this.#checkpoint))
    } finally {
      for (const part of inputs) this.#merging.delete(part)
    }
    for (const { rows, listed } of inputs) {
      rows.close()
      this.#store.remove(rows.id)
      if (listed.deleted !== undefined) this.#store.removeDeleted(rows.id, listed.deleted)
    }
    if (written !== undefined) yield* this.#warm(written.segment)
  }

  /** In the memory that the segments before it had. */
  *#warm(segment: Segment): Sliced<void> {
    segment.retain()
    try {
      yield* segment.warm()
    } finally {
      segment.close()
    }
  }

  #add(
    { segment, listed, numbers }: WrittenSegment<Segment>,
    inputs: readonly Omit<FormerPart, 'numbers'>[],
  ): void {
    const former = inputs.map(({ deleted, checkpointed }, i) => {
      return { numbers: must(numbers[i], 'numbers'), deleted, checkpointed }
    })
    this.#parts.push(partOf(segment, listed, former))
  }

  *#write(order: SegmentOrder<Rows, Segment>): Paced<WrittenSegment<Segment> | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    let written: WrittenSegment<Segment> | undefined
    try {
      written = yield* this.#store.write(id, order, (job) => this.#makeGraph(job))
      return written
    } finally {
      if (written === undefined) this.#store.remove(id)
    }
  }

  *#makeGraph(job: GraphJob): Paced<BuiltGraph> {
    const done = Promise.withResolvers<void>()
    const building = this.#with.builder.begin(job, done.resolve)
    try {
      for (let built = building.outcome(); ; built = building.outcome()) {
        if (built !== undefined) return built
        yield building.advance() ? undefined : done.promise
      }
    } finally {
      building.cancel()
    }
  }

  /**
   * Writes deletions up to the checkpoint, and then the manifest; then removes what it no longer names. Nothing else
   * changes what is listed meanwhile (VI4).
   */
  *#commit(checkpoint: number): Paced<void> {
    const obsolete: Required<Pick<ManifestSegment, 'id' | 'deleted'>>[] = []
    for (const part of this.#parts) {
      if (!part.isUnlisted) continue
      const { id, deleted } = part.listed
      if (deleted !== undefined) obsolete.push({ id, deleted })
      const generation = (deleted?.generation ?? 0) + 1
      const file = yield* this.#store.writeDeleted(id, generation, part.checkpointed)
      if (file !== undefined) part.listed = { ...part.listed, deleted: file }
      part.isUnlisted = false
    }
    yield* this.#writeManifest(checkpoint)
    for (const { id, deleted } of obsolete) this.#store.removeDeleted(id, deleted)
  }

  *#writeManifest(checkpoint: number): Paced<void> {
    yield* this.#store.writeManifest({
      checkpoint,
      nextId: this.#nextId,
      segments: this.#parts.map(({ listed }) => listed),
    })
  }
}

const LEARNT_PER_STEP = 4096
/** Where there are no lists, and what is added to a segment is half of it, because all rows have to be written again. */
const REWRITTEN = { extendedRatio: 1 / 2, settledRatio: 1 / 2, listedRowsMin: Infinity } as const
const NO_DOCUMENTS = newDocumentBits(0)
