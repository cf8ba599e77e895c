// Documents that do not change, with their vectors and, unless there are few, a graph of them.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Quantizer, QuantizerRange } from '../graph/quantizer.ts'
import type { VectorGraph } from '../graph/vector-graph.ts'
import { coarseRowBytes } from '../kernels/coarse-code.ts'
import type { VectorMemory } from '../files/vector-memory.ts'
import { CoarseVectors } from './coarse-vectors.ts'
import type { DenseRows, VectorBlock } from './document-rows.ts'
import type { RowLists } from '../lists/row-lists.ts'
import { PlacedOrdinals } from './placed-ordinals.ts'
import type { RowTable } from './row-table.ts'
import type { RowVectors } from './row-vectors.ts'
import { SealedRows } from './sealed-rows.ts'

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
  /** The same rows as those of the graph. */
  readonly lists: RowLists | undefined
  readonly memory: VectorMemory
}

/** A sealed segment of dense vectors. */
export class VectorSegment extends SealedRows implements DenseRows {
  readonly graph: SegmentGraph | undefined
  readonly lists: RowLists | undefined
  readonly #vectors: RowVectors
  readonly #memory: VectorMemory
  #coarse: CoarseVectors | undefined
  #placedOrdinals: PlacedOrdinals | undefined

  constructor({ id, table, vectors, graph, lists, memory }: SegmentParts) {
    super(id, table)
    this.#memory = memory
    this.graph = graph
    this.lists = lists
    this.#vectors = vectors
  }

  get bytesOnDisk(): number {
    const { bytesOnDisk } = this.#vectors
    if (bytesOnDisk === 0) return 0
    const searched = (this.graph?.bytesOnDisk ?? 0) + (this.lists?.bytesOnDisk ?? 0)
    return bytesOnDisk + this.table.byteLength + searched
  }

  get bytesInMemory(): number {
    const { bytesInMemory } = this.#vectors
    const searched = (this.graph?.graph.bytesInMemory ?? 0) + (this.lists?.bytesInMemory ?? 0)
    const coarse = this.#coarse === undefined ? 0 : this.#coarseBytes
    const placed = this.#placedOrdinals?.bytesInMemory ?? 0
    return bytesInMemory + this.table.byteLength + searched + coarse + placed
  }

  get isIndexed(): boolean {
    return this.graph !== undefined
  }

  get isListed(): boolean {
    return this.lists !== undefined
  }

  get isResident(): boolean {
    return this.#vectors.isResident
  }

  /** The codes of a segment without a graph and lists, once there is room for them. */
  get coarse(): CoarseVectors | undefined {
    if (this.#coarse !== undefined || this.isIndexed || this.isListed) return this.#coarse
    if (!this.#memory.reserve(this.#coarseBytes)) return undefined
    this.#coarse = new CoarseVectors(this, this.table.sizes.dimension)
    return this.#coarse
  }

  /** For a segment with lists, each of whose documents has one row. */
  get placedOrdinals(): PlacedOrdinals | undefined {
    if (!this.isListed || this.docCount !== this.rowCount) return undefined
    this.#placedOrdinals ??= new PlacedOrdinals(this.ordinals)
    return this.#placedOrdinals
  }

  /** By document. */
  get ordinals(): Uint32Array {
    return this.table.sections.ordinals
  }

  /** See `rangeOf`. */
  get range(): QuantizerRange {
    return rangeOf(this.table)
  }

  block(row: number, count: number): VectorBlock {
    return this.#vectors.block(row, count)
  }

  *warm(): Sliced<void> {
    if (this.lists !== undefined) yield* this.lists.load()
  }

  protected closeRows(): void {
    this.#vectors.close()
    this.graph?.graph.close()
    this.lists?.close()
    if (this.#coarse !== undefined) this.#memory.giveBack(this.#coarseBytes)
  }

  get #coarseBytes(): number {
    return this.rowCount * coarseRowBytes(this.table.sizes.dimension)
  }
}

/** How the vectors of a segment are moved and scaled for its graph, as its table has it. */
export function rangeOf({ sections, scale }: Pick<RowTable, 'sections' | 'scale'>): QuantizerRange {
  return { center: sections.center, scale }
}
