// Documents that do not change, with their vectors and, unless there are few, a graph of them.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { Quantization } from '../../../embedding/settings.ts'
import type { Trial } from '../lists/search-trial.ts'
import { GRAPH_FORMS } from '../graph/graph-form.ts'
import type { GraphCodes, Quantizer } from '../graph/quantizer.ts'
import type { VectorGraph } from '../graph/vector-graph.ts'
import { coarseRowBytes } from '../kernels/coarse-code.ts'
import type { BlockMemory } from '../files/block-memory.ts'
import { CoarseVectors } from './coarse-vectors.ts'
import type { DenseRows } from './dense-rows.ts'
import type { VectorBlock } from './vector-block.ts'
import type { RowLists } from '../lists/row-lists.ts'
import { PlacedOrdinals } from './placed-ordinals.ts'
import type { RowTable } from '../../rows/row-table.ts'
import type { RowVectors } from './row-vectors.ts'
import { SealedRows } from '../../rows/sealed-rows.ts'

/** The graph of a segment, and how queries are made ready for it. */
export interface SegmentGraph {
  readonly graph: VectorGraph
  readonly numbers: Quantization
  readonly quantizer: Quantizer
}

/** What was built of the rows, and is tried (search-trial.ts). */
export interface SegmentTrials {
  readonly graph: Trial | undefined
  readonly lists: Trial | undefined
  /** The bytes of both files. */
  readonly bytesOnDisk: number
}

/** What a segment consists of. */
export interface SegmentParts {
  readonly table: RowTable
  readonly vectors: RowVectors
  readonly trials: SegmentTrials
  /** Undefined if there is none that searches may rely on. */
  readonly graph: SegmentGraph | undefined
  /** The same rows as those of the graph. Undefined if there are none that searches may rely on. */
  readonly lists: RowLists | undefined
  readonly memory: BlockMemory
}

/** A sealed segment of dense vectors. */
export class VectorSegment extends SealedRows implements DenseRows {
  readonly graph: SegmentGraph | undefined
  readonly lists: RowLists | undefined
  readonly trials: SegmentTrials
  readonly #vectors: RowVectors
  readonly #memory: BlockMemory
  #coarse: CoarseVectors | undefined
  #placedOrdinals: PlacedOrdinals | undefined

  constructor({ table, vectors, trials, graph, lists, memory }: SegmentParts) {
    super(table)
    this.trials = trials
    this.#memory = memory
    this.graph = graph
    this.lists = lists
    this.#vectors = vectors
  }

  get bytesOnDisk(): number {
    const { bytesOnDisk } = this.#vectors
    if (bytesOnDisk === 0) return 0
    return bytesOnDisk + this.table.byteLength + this.trials.bytesOnDisk
  }

  get bytesInMemory(): number {
    const { bytesInMemory } = this.#vectors
    const searched = (this.graph?.graph.bytesInMemory ?? 0) + (this.lists?.bytesInMemory ?? 0)
    const coarse = this.#coarse === undefined ? 0 : this.#coarseBytes
    const placed = this.#placedOrdinals?.bytesInMemory ?? 0
    return bytesInMemory + this.table.byteLength + searched + coarse + placed
  }

  get isIndexed(): boolean {
    return this.trials.graph !== undefined
  }

  get isListed(): boolean {
    return this.trials.lists !== undefined
  }

  get isResident(): boolean {
    return this.#vectors.isResident
  }

  /** The codes of a segment whose rows are compared one by one, once there is room for them. */
  get coarse(): CoarseVectors | undefined {
    const isSearched = this.graph !== undefined || this.lists !== undefined
    if (this.#coarse !== undefined || isSearched) return this.#coarse
    if (!this.#memory.reserve(this.#coarseBytes)) return undefined
    this.#coarse = new CoarseVectors(this, this.table.sizes.dimension)
    return this.#coarse
  }

  /** For a segment with lists, each of whose documents has one row. */
  get placedOrdinals(): PlacedOrdinals | undefined {
    if (this.lists === undefined || this.docCount !== this.rowCount) return undefined
    this.#placedOrdinals ??= new PlacedOrdinals(this.ordinals)
    return this.#placedOrdinals
  }

  /** By document. */
  get ordinals(): Uint32Array {
    return this.table.sections.ordinals
  }

  /** How vectors become the numbers of its graph. */
  get codes(): GraphCodes {
    return codesOf(this.table)
  }

  block(row: number, count: number): VectorBlock {
    return this.#vectors.block(row, count)
  }

  override *warm(): Sliced<void> {
    if (this.lists !== undefined) yield* this.lists.load()
  }

  protected closeFiles(): void {
    this.#vectors.close()
    this.graph?.graph.close()
    this.lists?.close()
    if (this.#coarse !== undefined) this.#memory.giveBack(this.#coarseBytes)
  }

  get #coarseBytes(): number {
    return this.rowCount * coarseRowBytes(this.table.sizes.dimension)
  }
}

/** How vectors become the numbers of a segment's graph, as its table has it. */
export function codesOf({ sections, codedBy }: RowTable): GraphCodes {
  const form = must(GRAPH_FORMS[codedBy.form], 'a form of graphs')
  return { form, center: form.isCentered ? sections.center : NO_CENTER, scale: codedBy.scale }
}

const NO_CENTER = new Float32Array(0)
