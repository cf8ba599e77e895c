// The sealed segments of an index: which there are, how they are merged, and the manifest that lists them.

import { must } from '../../../../lib/assert.ts'
import { closedUnlessDone } from '../../../../lib/closing.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { EndMerge } from '../../files/upkeep.ts'
import type { BuiltGraph, GraphBuilder, GraphJob } from '../building/graph-job.ts'
import { newDocumentBits, type DocumentBits } from '../segment/deleted-documents.ts'
import type { DocumentRows } from '../segment/document-rows.ts'
import type { SealedRows } from '../segment/sealed-rows.ts'
import type { Manifest, ManifestSegment } from './manifest.ts'
import {
  chooseListed,
  chooseMerge,
  type MergeChoice,
  type MergePolicy,
  type SegmentKind,
  type SegmentSize,
} from './merge-policy.ts'
import type { SegmentOrder, SegmentStore, WrittenSegment } from './segment-store.ts'
import { markCheckpoint, newPart, partOf, type FormerPart, type VectorPart } from './vector-part.ts'

/** What the segments of an index are written and merged with. */
export interface SealedPartsOptions<Rows extends DocumentRows, Segment extends Rows> {
  readonly store: SegmentStore<Rows, Segment>
  readonly builder: GraphBuilder
  readonly mergePolicy: MergePolicy
}

/** The deletions at some moment, which become those of a checkpoint. */
export type DeletionMarks = readonly {
  readonly part: VectorPart<SealedRows>
  readonly bits: DocumentBits
  readonly count: number
}[]

/** Changed by flushes and merges, one step at a time. */
export class SealedParts<Rows extends DocumentRows, Segment extends Rows & SealedRows> {
  readonly #with: SealedPartsOptions<Rows, Segment>
  readonly #store: SegmentStore<Rows, Segment>
  #all: VectorPart<Segment>[] = []
  /** Those that a merge has chosen. */
  readonly #merging = new Set<VectorPart<Segment>>()
  #checkpoint = 0
  #nextId = 1
  #isClosed = false

  constructor(options: SealedPartsOptions<Rows, Segment>) {
    this.#with = options
    this.#store = options.store
  }

  get all(): readonly VectorPart<Segment>[] {
    return this.#all
  }

  /** The sequence that the manifest is of. */
  get checkpoint(): number {
    return this.#checkpoint
  }

  /** Opens what the manifest lists; after an error it is closed. */
  *restore(manifest: Manifest, onPart: (part: VectorPart<Segment>) => Sliced<void>): Sliced<void> {
    for (const listed of manifest.segments) {
      const deleted = yield* this.#store.readDeleted(listed)
      const part = newPart(yield* this.#store.open(listed), listed, deleted)
      this.#all.push(part)
      yield* onPart(part)
    }
    this.#nextId = manifest.nextId
    this.#checkpoint = manifest.checkpoint
    this.#store.removeUnlisted(manifest.segments)
  }

  /** What was deleted from the segments by now. */
  marks(): DeletionMarks {
    return this.#all.map((part) => {
      return { part, bits: part.deleted.view(), count: part.deleted.count }
    })
  }

  /** Writes a segment, which `add` makes one of these. Undefined if no document is kept. */
  *write(order: SegmentOrder<Rows, Segment>): Paced<WrittenSegment<Segment> | undefined> {
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

  add(
    { segment, listed, numbers }: WrittenSegment<Segment>,
    inputs: readonly Omit<FormerPart, 'numbers'>[],
  ): void {
    const former = inputs.map(({ deleted, checkpointed }, i) => {
      return { numbers: must(numbers[i], 'numbers'), deleted, checkpointed }
    })
    this.#all.push(partOf(segment, listed, former))
  }

  /**
   * Writes deletions up to the checkpoint, and then the manifest; then removes what it no longer names. Nothing else
   * changes what is listed meanwhile (VI4).
   */
  *commit(checkpoint: number, marks: DeletionMarks = []): Paced<void> {
    for (const { part, bits, count } of marks) markCheckpoint(part, bits, count)
    const obsolete: Required<Pick<ManifestSegment, 'id' | 'deleted'>>[] = []
    for (const part of this.#all) {
      if (!part.isUnlisted) continue
      const { id, deleted } = part.listed
      if (deleted !== undefined) obsolete.push({ id, deleted })
      const generation = (deleted?.generation ?? 0) + 1
      const file = yield* this.#store.writeDeleted(id, generation, part.checkpointed)
      if (file !== undefined) part.listed = { ...part.listed, deleted: file }
      part.isUnlisted = false
    }
    const segments = this.#all.map(({ listed }) => listed)
    yield* this.#store.writeManifest({ checkpoint, nextId: this.#nextId, segments })
    this.#checkpoint = checkpoint
    for (const { id, deleted } of obsolete) this.#store.removeDeleted(id, deleted)
  }

  /** `isIdle`: nothing waits to be written, and nothing is expected soon. */
  nextMerge(isIdle: boolean, endBy: EndMerge): Paced<void> | undefined {
    const { mergePolicy } = this.#with
    const policy = this.#canExtend ? mergePolicy : { ...mergePolicy, ...REWRITTEN }
    const moment = this.#merging.size > 0 ? 'listing' : isIdle ? 'settled' : 'writing'
    return this.#begun(chooseMerge(this.#freeSizes(), policy, moment), endBy)
  }

  /** Beside a merge that waits for its graph. */
  nextListed(endBy: EndMerge): Paced<void> | undefined {
    if (!this.#canExtend) return undefined
    return this.#begun(chooseListed(this.#freeSizes(), this.#with.mergePolicy), endBy)
  }

  close(): void {
    this.#isClosed = true
    for (const { rows } of this.#all) rows.close()
    this.#all = []
  }

  /** The sizes of the segments that no merge has chosen. */
  #freeSizes(): readonly SegmentSize[] {
    const free = this.#all.filter((part) => !this.#merging.has(part))
    return free.map(({ rows, checkpointedCount }) => {
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

  #begun(choice: MergeChoice | undefined, endBy: EndMerge): Paced<void> | undefined {
    if (choice === undefined) return undefined
    const partOfId = (id: number): VectorPart<Segment> => {
      return must(
        this.#all.find(({ rows }) => rows.id === id),
        'a chosen segment',
      )
    }
    const inputs = choice.ids.map(partOfId)
    for (const part of inputs) this.#merging.add(part)
    const { base } = choice
    const extended = this.#canExtend && base !== undefined ? partOfId(base).rows : undefined
    return this.#merge({ inputs, base: extended, makes: choice.makes }, endBy)
  }

  *#merge({ inputs, base, makes }: Merge<Segment>, endBy: EndMerge): Paced<void> {
    let written: WrittenSegment<Segment> | undefined
    let isReplaced = false
    try {
      written = yield* this.write({
        inputs: inputs.map(({ rows, checkpointed }) => {
          return { rows, without: rows === base ? NO_DOCUMENTS : checkpointed }
        }),
        makes: this.#store.hasGraphs ? makes : 'rows',
        base,
      })
      const merged = written
      const ending = endBy(() => {
        isReplaced = true
        return this.#replace(inputs, merged)
      })
      // The index may be closed meanwhile. It closes its parts, but none that was one before, or is not yet.
      yield* closedUnlessDone(ending, () => {
        if (!isReplaced) merged?.segment.close()
        else for (const { rows } of inputs) rows.close()
      })
    } finally {
      for (const part of inputs) this.#merging.delete(part)
    }
    for (const { rows, listed } of inputs) {
      // The space of a file that is still mapped would be freed by the thread that unmaps it, which takes long.
      rows.closeThen(() => this.#remove(listed))
    }
    if (written !== undefined) yield* warm(written.segment)
  }

  /** Not if the index was closed meanwhile: another one may have files of these names. The next opening removes these. */
  #remove({ id, deleted }: ManifestSegment): void {
    if (this.#isClosed) return
    this.#store.remove(id)
    if (deleted !== undefined) this.#store.removeDeleted(id, deleted)
  }

  *#replace(
    inputs: readonly VectorPart<Segment>[],
    written: WrittenSegment<Segment> | undefined,
  ): Paced<void> {
    this.#all = this.#all.filter((part) => !inputs.includes(part))
    if (written !== undefined) this.add(written, inputs)
    yield* this.commit(this.#checkpoint)
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
}

interface Merge<Segment extends SealedRows> {
  readonly inputs: readonly VectorPart<Segment>[]
  readonly base: Segment | undefined
  readonly makes: SegmentKind
}

/** In the memory that the segments before it had. */
function* warm(segment: SealedRows): Sliced<void> {
  segment.retain()
  try {
    yield* segment.warm()
  } finally {
    segment.close()
  }
}

/** Where there are no lists, and what is added to a segment is half of it, because all rows have to be written again. */
const REWRITTEN = { extendedRatio: 1 / 2, settledRatio: 1 / 2, listedRowsMin: Infinity } as const
const NO_DOCUMENTS = newDocumentBits(0)
