// The segments of an index whose documents have rows, as a kind of segmented index: their tables, and which of them are
// merged. What the rows are, and what leads to near ones, each format says.

import type { Paced, Sliced } from '../../../lib/sliced.ts'
import type { Bitset } from '../encoding/bitset.ts'
import { LivePart, type PartSource } from '../segments/live-part.ts'
import { SegmentFiles, type SegmentPlace } from '../segments/segment-files.ts'
import type {
  MergeChoice,
  MergeLane,
  SealedPart,
  SegmentKind,
  SegmentOrder,
  WrittenSegment,
} from '../segments/segment-kind.ts'
import type { DocumentRows } from './document-rows.ts'
import { damaged, FileWriter, readVerified, type FileSum } from './file-sums.ts'
import type { SegmentInput } from './kept-documents.ts'
import { readTable, RowTable, type TableBytes } from './row-table.ts'
import { rowsFormat, type ListedRows, type RowsFileNames } from './rows-format.ts'
import {
  chooseListed,
  chooseMerge,
  type FoundBy,
  type MergePolicy,
  type RowsChoice,
  type RowsSize,
} from './rows-merge-policy.ts'
import type { RowsTail } from './rows-tail.ts'
import type { SealedRows } from './sealed-rows.ts'

/** The numbers of an index; a test passes small ones. */
export interface RowsIndexLimits {
  /** A tail of more bytes is flushed. */
  readonly tailBytesMax: number
  /** A tail of more rows is flushed: searches compare with each of them. */
  readonly tailRowsMax: number
  readonly mergePolicy: MergePolicy
}

export const defaultRowsIndexLimits: RowsIndexLimits = {
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

/** How a merge makes its segment. */
export interface RowsPlan {
  readonly makes: FoundBy
  /** The first input, all of whose documents are kept: its graph and its lists are extended, as far as it has them. */
  readonly base: number | undefined
}

type RowsOrder<Tail extends RowsTail, Segment extends SealedRows> = SegmentOrder<
  LivePart<Tail> | LivePart<Segment>,
  RowsPlan
>
type Written<Segment extends SealedRows, Listed> = WrittenSegment<LivePart<Segment>, Listed>
type Lane<Segment extends SealedRows, Listed extends ListedRows> = MergeLane<
  LivePart<Segment>,
  Listed,
  RowsPlan
>

/** Writes, opens and chooses segments. A full disk is DISK_FULL; what is not as it was written is CORRUPTION. */
export abstract class RowSegments<
  Tail extends RowsTail,
  Segment extends SealedRows,
  Listed extends ListedRows,
> implements SegmentKind<LivePart<Tail>, LivePart<Segment>, Listed, RowsPlan> {
  readonly files: SegmentFiles<Listed>
  readonly #limits: RowsIndexLimits

  constructor(place: SegmentPlace, names: RowsFileNames<Listed>, limits: RowsIndexLimits) {
    this.files = new SegmentFiles(place, rowsFormat(names))
    this.#limits = limits
  }

  /** Whether merges make graphs. */
  protected abstract readonly hasGraphs: boolean
  protected abstract newTail(): Tail
  abstract write(order: RowsOrder<Tail, Segment>): Paced<Written<Segment, Listed> | undefined>
  abstract open(listed: Listed): Sliced<LivePart<Segment>>

  /** The second lane is for merges beside one that waits for its graph. */
  readonly lanes: readonly Lane<Segment, Listed>[] = [
    (free, { isMerging, isIdle, isFilling }) => {
      const { mergePolicy } = this.#limits
      const policy = this.#canExtend ? mergePolicy : { ...mergePolicy, ...REWRITTEN }
      const settled = isIdle && !isFilling ? 'settled' : 'writing'
      return this.#planOf(chooseMerge(this.#sizes(free), policy, isMerging ? 'listing' : settled))
    },
    (free) => {
      if (!this.#canExtend) return undefined
      return this.#planOf(chooseListed(this.#sizes(free), this.#limits.mergePolicy))
    },
  ]

  newMemory(): LivePart<Tail> {
    return new LivePart(this.newTail())
  }

  isFull({ source }: LivePart<Tail>): boolean {
    const { tailBytesMax, tailRowsMax } = this.#limits
    return source.bytesInMemory >= tailBytesMax || source.rowCount >= tailRowsMax
  }

  protected *readTable({ id, rows }: Listed, dimension: number): Sliced<RowTable> {
    const name = `${id}.rows`
    const bytes = yield* readVerified(this.files.path(name), name, rows)
    const table = new RowTable(readTable(bytes, name))
    if (table.sizes.dimension === dimension) return table
    throw damaged(`${name} has vectors of another dimension`)
  }

  protected newWriter(name: string): FileWriter {
    return new FileWriter(this.files.path(name), this.files.disk)
  }

  protected *writeTable(id: number, { bytes }: TableBytes): Paced<FileSum> {
    const out = this.newWriter(`${id}.rows`)
    try {
      yield* out.write(bytes)
      return yield* out.finish()
    } finally {
      out.close()
    }
  }

  #sizes(free: readonly SealedPart<LivePart<Segment>, Listed>[]): readonly RowsSize[] {
    return free.map(({ live, listed: { id } }) => {
      const { rowCount, docCount, isIndexed, isListed } = live.source
      const size = { id, rowCount, docCount, deletedCount: live.checkpointed }
      return { ...size, hasGraph: isIndexed || !this.hasGraphs, hasLists: isListed }
    })
  }

  /** Without files, or without graphs, all rows are written again. */
  get #canExtend(): boolean {
    return this.files.isDurable && this.hasGraphs
  }

  #planOf(choice: RowsChoice | undefined): MergeChoice<RowsPlan> | undefined {
    if (choice === undefined) return undefined
    const base = this.#canExtend ? choice.base : undefined
    return { ids: choice.ids, plan: { makes: this.hasGraphs ? choice.makes : 'rows', base } }
  }
}

/** The documents of an order that go into the segment: all of the base, because it is copied as a whole. */
export function inputsOf<Rows extends DocumentRows & PartSource>({
  inputs,
  plan,
}: SegmentOrder<LivePart<Rows>, RowsPlan>): readonly SegmentInput<Rows>[] {
  return inputs.map(({ live, without }, i) => {
    const isBase = i === 0 && plan?.base !== undefined
    return { rows: live.source, without: isBase ? NO_DOCUMENTS : without }
  })
}

/** Where there are no lists, and what is added to a segment is half of it, because all rows have to be written again. */
const REWRITTEN = { extendedRatio: 1 / 2, settledRatio: 1 / 2, listedRowsMin: Infinity } as const
const NO_DOCUMENTS: Bitset = new Uint32Array(0)
