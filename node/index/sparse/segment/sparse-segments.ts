// Segments of sparse vectors. Format: docs/reference/formats/sparse-segment.md.

import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { SparseIndexSettings } from '../../../embedding/sparse-index-settings.ts'
import { damaged } from '../../rows/file-sums.ts'
import { countKept, keptOf, TableFiller } from '../../rows/kept-documents.ts'
import { newTable, RowTable } from '../../rows/row-table.ts'
import {
  defaultRowsIndexLimits,
  inputsOf,
  RowSegments,
  type RowsIndexLimits,
  type RowsPlan,
} from '../../rows/row-segments.ts'
import type { ListedRows } from '../../rows/rows-format.ts'
import { LivePart } from '../../segments/live-part.ts'
import type { SegmentPlace } from '../../segments/segment-files.ts'
import type { SegmentOrder, WrittenSegment } from '../../segments/segment-kind.ts'
import {
  FilePostings,
  KeptPostings,
  type PostingsCache,
  type PostingsOutput,
} from '../postings/postings-bytes.ts'
import type { PostingsSum } from '../postings/postings-format.ts'
import { SparsePostings } from '../postings/sparse-postings.ts'
import { mergeTerms } from './merge-terms.ts'
import { SparseSegment } from './sparse-segment.ts'
import { SparseTail } from './sparse-tail.ts'

/** What segments of sparse vectors are made with. */
export interface SparseSegmentsOptions extends SegmentPlace {
  readonly settings: SparseIndexSettings
  readonly cache: PostingsCache
  readonly limits?: RowsIndexLimits | undefined
}

/** A segment of a checkpoint. */
export interface SparseListed extends ListedRows {
  /** Present in each segment of ours. */
  readonly postings?: PostingsSum
}

type SparseLive = LivePart<SparseSegment>
type SparseOrder = SegmentOrder<LivePart<SparseTail> | SparseLive, RowsPlan>
type Written = WrittenSegment<SparseLive, SparseListed>

/** Rows are compared quickly while they are in memory, and a merge goes through postings once. */
const LIMITS: RowsIndexLimits = {
  tailBytesMax: 16 * 2 ** 20,
  tailRowsMax: 8192,
  mergePolicy: { ...defaultRowsIndexLimits.mergePolicy, rowsMax: 2_000_000 },
}

const ENDINGS = ['postings'] as const

/** Rows that are looked at in about a millisecond. */
const ROWS_PER_STEP = 4096

/** The segments of an index of sparse vectors. */
export class SparseSegments extends RowSegments<SparseTail, SparseSegment, SparseListed> {
  protected readonly hasGraphs = false
  readonly #with: SparseSegmentsOptions

  constructor(options: SparseSegmentsOptions) {
    const { settings, limits = LIMITS } = options
    super(options, { settings, endings: ENDINGS, endingsOf: () => ENDINGS }, limits)
    this.#with = options
  }

  protected newTail(): SparseTail {
    return new SparseTail()
  }

  write(order: SparseOrder): Paced<Written | undefined> {
    return this.files.isDurable ? this.#writeFiles(order) : this.#keepInMemory(order)
  }

  *open(listed: SparseListed): Sliced<SparseLive> {
    const { id, postings } = listed
    if (postings === undefined) throw damaged('manifest names a segment without postings')
    return new LivePart(this.#openFiles(id, yield* this.readTable(listed, 0), postings))
  }

  *#writeFiles(order: SparseOrder): Paced<Written | undefined> {
    const { id } = order
    const out = this.newWriter(`${id}.postings`)
    try {
      const written = yield* this.#writeRows(order, out)
      if (written === undefined) return undefined
      const { table, postings, numbers } = written
      yield* out.finish()
      const rows = yield* this.writeTable(id, table)
      const live = new LivePart(this.#openFiles(id, new RowTable(table), postings))
      return { live, listed: { id, rows, postings }, numbers }
    } finally {
      out.close()
    }
  }

  *#keepInMemory(order: SparseOrder): Paced<Written | undefined> {
    const kept = new KeptPostings()
    const written = yield* this.#writeRows(order, kept)
    if (written === undefined) return undefined
    const { table, postings, numbers } = written
    const read = new SparsePostings(yield* kept.join(), postings, 'postings in memory')
    const live = new LivePart(new SparseSegment(new RowTable(table), read))
    return { live, listed: { id: order.id, rows: { bytes: 0, sum: 0 } }, numbers }
  }

  *#writeRows(order: SparseOrder, out: PostingsOutput) {
    const inputs = inputsOf<SparseTail | SparseSegment>(order)
    const { sizes, firstExpiryMs, numbers } = yield* countKept(inputs)
    if (sizes.docCount === 0) return undefined
    const shape = { dimension: 0, ...sizes, centerLength: 0 }
    const table = newTable(shape, { firstExpiryMs })
    const filler = new TableFiller(table)
    const merged = []
    for (const input of inputs) {
      const { rows } = input
      // The rows of documents that are left out stay where they are: nowhere.
      const rowNumbers = new Int32Array(rows.rowCount).fill(-1)
      let looked = 0
      for (const doc of keptOf(input)) {
        const first = yield* filler.add(rows, doc)
        const [from, end] = [rows.firstRowOf(doc), rows.firstRowOf(doc + 1)]
        for (let row = from; row < end; row += 1) rowNumbers[row] = first + row - from
        looked += end - from
        if (looked < ROWS_PER_STEP) continue
        looked = 0
        yield
      }
      merged.push({
        walk: rows instanceof SparseTail ? yield* rows.walkTerms() : rows.walkTerms(),
        rowNumbers,
      })
    }
    const postings = yield* mergeTerms(merged, out, this.#with.settings.chunkSize)
    yield* filler.finish()
    return { table, postings, numbers }
  }

  #openFiles(id: number, table: RowTable, written: PostingsSum): SparseSegment {
    const name = `${id}.postings`
    const { cache } = this.#with
    const source = new FilePostings({ path: this.files.path(name), name, cache }, written)
    try {
      return new SparseSegment(table, new SparsePostings(source, written, name))
    } catch (error) {
      source.close()
      throw error
    }
  }
}
