// Documents that do not change, with their vectors and, unless there are few, a graph of them.

import { must } from '../../../../lib/assert.ts'
import type { Quantizer, QuantizerRange } from '../graph/quantizer.ts'
import type { VectorGraph } from '../graph/vector-graph.ts'
import type { DocumentRows, DocumentTest, VectorBlock } from './document-rows.ts'
import type { RowTable } from './row-table.ts'
import type { RowVectors } from './row-vectors.ts'

/** The graph of a segment, and how queries are made ready for it. */
export interface SegmentGraph {
  readonly graph: VectorGraph
  readonly quantizer: Quantizer
  readonly bytesOnDisk: number
}

/** What a segment consists of. */
export interface SegmentParts {
  readonly id: number
  readonly table: RowTable
  readonly vectors: RowVectors
  readonly graph: SegmentGraph | undefined
}

/** A sealed segment. It is closed when every reader has let it go. */
export class VectorSegment implements DocumentRows {
  readonly id: number
  readonly docCount: number
  readonly rowCount: number
  readonly firstExpiryMs: number
  readonly graph: SegmentGraph | undefined
  readonly #table: RowTable
  readonly #vectors: RowVectors
  #holders = 1

  constructor({ id, table, vectors, graph }: SegmentParts) {
    this.id = id
    this.docCount = table.sizes.docCount
    this.rowCount = table.sizes.rowCount
    this.firstExpiryMs = table.firstExpiryMs
    this.graph = graph
    this.#table = table
    this.#vectors = vectors
  }

  get bytesOnDisk(): number {
    const { bytesOnDisk } = this.#vectors
    if (bytesOnDisk === 0) return 0
    return bytesOnDisk + this.#table.byteLength + (this.graph?.bytesOnDisk ?? 0)
  }

  get bytesInMemory(): number {
    const { bytesInMemory } = this.#vectors
    return bytesInMemory + this.#table.byteLength + (this.graph?.graph.bytesInMemory ?? 0)
  }

  get isResident(): boolean {
    return this.#vectors.isResident
  }

  /** Adds a reader. */
  retain(): void {
    this.#holders += 1
  }

  /** Takes a reader away. */
  close(): void {
    this.#holders -= 1
    if (this.#holders === 0) this.#vectors.close()
  }

  /** See `rangeOf`. */
  get range(): QuantizerRange {
    return rangeOf(this.#table)
  }

  keyOf(doc: number): Uint8Array {
    return this.#table.keyOf(doc)
  }

  ordinalOf(doc: number): number {
    return must(this.#table.sections.ordinals[doc], 'a document')
  }

  expiryOf(doc: number): number {
    return must(this.#table.sections.expiries[doc], 'a document')
  }

  firstRowOf(doc: number): number {
    return must(this.#table.sections.firstRows[doc], 'a document')
  }

  docOfRow(row: number): number {
    return this.#table.docOfRow(row)
  }

  startOf(row: number): number {
    return must(this.#table.sections.starts[row], 'a row')
  }

  endOf(row: number): number {
    return must(this.#table.sections.ends[row], 'a row')
  }

  block(row: number, count: number): VectorBlock {
    return this.#vectors.block(row, count)
  }

  docOf(key: Uint8Array, isDeleted: DocumentTest): number {
    return this.#table.docOf(key, isDeleted)
  }

  docOfOrdinal(ordinal: number, isDeleted: DocumentTest): number {
    return this.#table.docOfOrdinal(ordinal, isDeleted)
  }
}

/** How the vectors of a segment are moved and scaled for its graph, as its table has it. */
export function rangeOf({ sections, scale }: Pick<RowTable, 'sections' | 'scale'>): QuantizerRange {
  return { center: sections.center, scale }
}
