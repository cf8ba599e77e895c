// Segments of sparse vectors. Format: docs/reference/formats/sparse-segment.md.

import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { SparseIndexSettings } from '../../../embedding/sparse-settings.ts'
import type { ManifestSegment, PostingsSum } from '../../vector/engine/manifest.ts'
import {
  SegmentStore,
  type SegmentOrder,
  type StoreOptions,
  type WrittenSegment,
} from '../../vector/engine/segment-store.ts'
import { damaged } from '../../vector/files/file-sums.ts'
import { countKept, keptOf, TableFiller } from '../../vector/segment/kept-documents.ts'
import { newTable, RowTable } from '../../vector/segment/row-table.ts'
import {
  FilePostings,
  KeptPostings,
  type PostingsCache,
  type PostingsOutput,
} from '../postings/postings-bytes.ts'
import { SparsePostings } from '../postings/sparse-postings.ts'
import { mergeTerms } from './merge-terms.ts'
import type { SparseRows } from './sparse-index.ts'
import { SparseSegment } from './sparse-segment.ts'
import { SparseTail } from './sparse-tail.ts'

/** What a store of sparse vectors works with. */
export interface SparseSegmentsOptions extends StoreOptions {
  readonly settings: SparseIndexSettings
  readonly cache: PostingsCache
}

type SparseOrder = SegmentOrder<SparseRows, SparseSegment>
type Written = WrittenSegment<SparseSegment>

/** Rows that are looked at in about a millisecond. */
const ROWS_PER_STEP = 4096

/** The segments of an index of sparse vectors. */
export class SparseSegments extends SegmentStore<SparseRows, SparseSegment> {
  readonly hasGraphs = false
  readonly #with: SparseSegmentsOptions

  constructor(options: SparseSegmentsOptions) {
    super(options)
    this.#with = options
  }

  write(id: number, order: SparseOrder): Paced<Written | undefined> {
    return this.isDurable ? this.#writeFiles(id, order) : this.#keepInMemory(id, order)
  }

  *open(listed: ManifestSegment): Sliced<SparseSegment> {
    const { id, postings } = listed
    if (postings === undefined) throw damaged('manifest names a segment without postings')
    return this.#openFiles(id, yield* this.readTable(listed, 0), postings)
  }

  *#writeFiles(id: number, order: SparseOrder): Paced<Written | undefined> {
    const out = this.newWriter(`${id}.postings`)
    try {
      const written = yield* this.#writeRows(order, out)
      if (written === undefined) return undefined
      const { table, postings, numbers } = written
      yield* out.finish()
      const rows = yield* this.writeTable(id, table)
      const segment = this.#openFiles(id, new RowTable(table), postings)
      return { segment, listed: { id, rows, postings }, numbers }
    } finally {
      out.close()
    }
  }

  *#keepInMemory(id: number, order: SparseOrder): Paced<Written | undefined> {
    const kept = new KeptPostings()
    const written = yield* this.#writeRows(order, kept)
    if (written === undefined) return undefined
    const { table, postings, numbers } = written
    const read = new SparsePostings(yield* kept.join(), postings, 'postings in memory')
    const segment = new SparseSegment(id, new RowTable(table), read)
    return { segment, listed: { id, rows: { bytes: 0, sum: 0 } }, numbers }
  }

  *#writeRows({ inputs }: SparseOrder, out: PostingsOutput) {
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
    const source = new FilePostings({ path: this.path(name), name, cache }, written)
    try {
      return new SparseSegment(id, table, new SparsePostings(source, written, name))
    } catch (error) {
      source.close()
      throw error
    }
  }
}
