// An index of documents that have rows: vectors, each of which stands for a part of the document. The index knows its
// ordinals, so that filters by ordinals are counted quickly.

import type { Paced, Sliced } from '../../../lib/sliced.ts'
import type { OrdinalSet } from '../host/ordinal-set.ts'
import type { LivePart } from '../segments/live-part.ts'
import { SegmentedIndex, type SegmentedStats } from '../segments/segmented-index.ts'
import type { DocumentRows } from './document-rows.ts'
import { LiveOrdinals } from './live-ordinals.ts'
import { viewOf, type PartView } from './part-view.ts'
import type { RowsPlan } from './row-segments.ts'
import type { ListedRows } from './rows-format.ts'
import type { RowsDocument, RowsTail } from './rows-tail.ts'
import type { SealedRows } from './sealed-rows.ts'

/** What a search looks at; `release` is called once. */
export interface RowsSnapshot<
  Rows extends DocumentRows = DocumentRows,
  Segment extends Rows = Rows,
> {
  readonly parts: readonly PartView<Rows, Segment>[]
  /** How many live documents there are: those of the filter, or all. */
  readonly liveCount: number
  release(): void
}

const LEARNT_PER_STEP = 4096

/** The documents of one shard with their rows, written and searched by one thread. */
export class RowsIndex<
  Document extends RowsDocument,
  Tail extends RowsTail<Document>,
  Segment extends SealedRows,
  Listed extends ListedRows,
> extends SegmentedIndex<LivePart<Tail>, LivePart<Segment>, Listed, RowsPlan> {
  readonly #ordinals = new LiveOrdinals();

  override *restore(): Paced<void> {
    yield* super.restore()
    for (const { live } of this.sealed) yield* this.#learnOrdinals(live)
  }

  /** In one step: the document is found from then on, and the one that it replaces no longer. */
  put(document: Document): void {
    this.delete(document.key)
    this.memory.source.add(document)
    this.#ordinals.add(document.ordinal)
  }

  delete(key: Uint8Array): void {
    const found = this.deleteFrom(this.newestFirst, (part) => {
      return part.source.docOf(key, (doc) => part.isDeleted(doc))
    })
    if (found !== undefined) this.#ordinals.delete(found.part.source.ordinalOf(found.doc))
  }

  snapshot(filter: OrdinalSet | undefined): RowsSnapshot<Tail | Segment, Segment> {
    this.assertOpen()
    const release = this.hold()
    const sealed = this.sealed.map(({ live }) => viewOf<Tail | Segment, Segment>(live, live.source))
    const tails = this.unsealed.map((part) => viewOf<Tail | Segment, Segment>(part))
    const parts = [...sealed, ...tails].filter((part) => part.liveCount > 0)
    const liveCount =
      filter === undefined
        ? parts.reduce((sum, part) => sum + part.liveCount, 0)
        : this.#ordinals.countOf(filter)
    return { parts, liveCount, release }
  }

  override stats(): SegmentedStats {
    const stats = super.stats()
    return { ...stats, bytesInMemory: stats.bytesInMemory + this.#ordinals.bytesInMemory }
  }

  *#learnOrdinals(part: LivePart<Segment>): Sliced<void> {
    const { source } = part
    for (let doc = 0; doc < source.docCount; doc += 1) {
      if (!part.isDeleted(doc)) this.#ordinals.add(source.ordinalOf(doc))
      if (doc % LEARNT_PER_STEP === 0) yield
    }
  }
}
