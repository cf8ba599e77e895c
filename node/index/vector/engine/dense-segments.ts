// Segments of dense vectors: their exact vectors, and graphs of them.
//
// Invariants:
//   VF2  Nothing reads a graph's file whose sum was not verified since the opening, or that we did not write:
//        a damaged one would end the process.

import { must } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { verifyFile, type FileSum } from '../files/file-sums.ts'
import type { GraphBase, GraphFiles, GraphJob } from '../building/graph-job.ts'
import { fitsMemory, type Kernels } from '../kernels/code-memory.ts'
import { LISTS_MAX } from '../lists/list-centers.ts'
import { RowLists } from '../lists/row-lists.ts'
import { graphShapeOf, Quantizer } from '../graph/quantizer.ts'
import type { GraphLibrary } from '../graph/vector-graph.ts'
import type { DenseRows } from '../segment/document-rows.ts'
import { RowTable } from '../segment/row-table.ts'
import { FileVectors, KeptVectors, type RowVectors } from '../segment/row-vectors.ts'
import type { VectorMemory } from '../files/vector-memory.ts'
import { writeRows, type SegmentPlan, type WrittenRows } from '../segment/segment-writer.ts'
import { rangeOf, VectorSegment, type SegmentGraph } from '../segment/vector-segment.ts'
import type { ManifestSegment } from './manifest.ts'
import {
  SegmentStore,
  type MakeGraph,
  type SegmentOrder,
  type StoreOptions,
  type WrittenSegment,
} from './segment-store.ts'

/** What a store of dense vectors works with. */
export interface DenseSegmentsOptions extends StoreOptions {
  readonly settings: DenseIndexSettings
  /** Undefined for an index without graphs. */
  readonly library: GraphLibrary | undefined
  readonly memory: VectorMemory
  readonly kernels: Kernels
}

/** What the manifest says of a graph, and the lists beside it, or alone. */
interface OpenedGraph {
  readonly graph: FileSum | undefined
  readonly lists: RowLists | undefined
}

type DenseOrder = SegmentOrder<DenseRows, VectorSegment>

interface Writing {
  readonly order: DenseOrder
  readonly plan: SegmentPlan
  readonly make: MakeGraph
}

/** The segments of an index of dense vectors. */
export class DenseSegments extends SegmentStore<DenseRows, VectorSegment> {
  readonly #with: DenseSegmentsOptions

  constructor(options: DenseSegmentsOptions) {
    super(options)
    this.#with = options
  }

  get hasGraphs(): boolean {
    return this.#with.library !== undefined
  }

  write(
    id: number,
    order: DenseOrder,
    make: MakeGraph,
  ): Paced<WrittenSegment<VectorSegment> | undefined> {
    const { settings, library } = this.#with
    const hasGraph = order.makes === 'graph'
    const range = order.base?.graph && order.base.range
    const plan = { settings, inputs: order.inputs, hasGraph, range }
    if (!this.isDurable) return this.#keepInMemory(id, { ...plan, range: undefined, library })
    return this.#writeFiles(id, { order, plan: { ...plan, library: undefined }, make })
  }

  *open(listed: ManifestSegment): Sliced<VectorSegment> {
    const { id, graph, lists } = listed
    const table = yield* this.readTable(listed, this.#with.settings.dimension)
    if (graph !== undefined) {
      yield* verifyFile(this.path(`${id}.graph`), `${id}.graph`, graph)
    }
    const opened = lists && (yield* this.#openLists(id, lists))
    return this.#openFiles(id, table, { graph, lists: opened })
  }

  *#writeFiles(
    id: number,
    { order, plan, make }: Writing,
  ): Paced<WrittenSegment<VectorSegment> | undefined> {
    const out = this.newWriter(`${id}.vectors`)
    try {
      const written = yield* writeRows(plan, (vectors) => out.write(bytesOf(vectors)))
      if (written === undefined) return undefined
      yield* out.finish()
      const { table, numbers } = written
      const rows = yield* this.writeTable(id, table)
      if (order.makes === 'rows') {
        return { segment: this.#openFiles(id, new RowTable(table)), listed: { id, rows }, numbers }
      }
      const built = yield* make(this.#jobOf(id, written, order))
      const lists = yield* this.#openLists(id, built.lists)
      const segment = this.#openFiles(id, new RowTable(table), { graph: built.graph, lists })
      const { graph } = built
      const listed = { id, rows, lists: built.lists, ...(graph === undefined ? {} : { graph }) }
      return { segment, listed, numbers }
    } finally {
      out.close()
    }
  }

  #jobOf(id: number, { table, range }: WrittenRows, { base, makes }: DenseOrder): GraphJob {
    return {
      makesGraph: makes === 'graph',
      settings: this.#with.settings,
      // A copy: the center is a part of the table.
      range: { center: range.center.slice(), scale: range.scale },
      vectorsPath: this.path(`${id}.vectors`),
      rowCount: table.sizes.rowCount,
      base: base && this.#baseOf(base),
      files: this.#graphFiles(id),
    }
  }

  #baseOf({ id, rowCount, graph, lists }: VectorSegment): GraphBase {
    const files = this.#graphFiles(id)
    return { rowCount, graph: graph && files.graph, lists: lists && files.lists }
  }

  #graphFiles(id: number): GraphFiles {
    return { graph: this.path(`${id}.graph`), lists: this.path(`${id}.lists`) }
  }

  #openLists(id: number, lists: FileSum): Sliced<RowLists> {
    const { memory, kernels } = this.#with
    const name = `${id}.lists`
    return RowLists.open({ path: this.path(name), name, memory, kernels }, lists)
  }

  /** Takes the lists: they are closed if it fails. */
  #openFiles(id: number, table: RowTable, built?: OpenedGraph): VectorSegment {
    const name = `${id}.vectors`
    const shape = { ...table.sizes, sums: table.sections.sums }
    const { memory } = this.#with
    let vectors: FileVectors | undefined
    try {
      const isScanned = built?.graph === undefined && built?.lists === undefined
      vectors = new FileVectors({ path: this.path(name), name, memory, isScanned }, shape)
      const graph = built?.graph && this.#viewGraph(id, table, built.graph)
      return new VectorSegment({ id, table, vectors, graph, lists: built?.lists, memory })
    } catch (error) {
      vectors?.close()
      built?.lists?.close()
      throw error
    }
  }

  #viewGraph(id: number, table: RowTable, { bytes }: FileSum): SegmentGraph {
    const { settings, library } = this.#with
    const file = this.path(`${id}.graph`)
    const graph = must(library, 'a library').view(graphShapeOf(settings), file)
    return { graph, quantizer: new Quantizer(settings, rangeOf(table)), bytesOnDisk: bytes }
  }

  *#keepInMemory(id: number, plan: SegmentPlan): Paced<WrittenSegment<VectorSegment> | undefined> {
    const kept = new KeptVectors()
    const written = yield* writeRows(plan, (vectors) => kept.add(vectors))
    if (written === undefined) return undefined
    const { numbers } = written
    const table = new RowTable(written.table)
    const vectors = yield* kept.join(table.sizes)
    const graph = written.graph && {
      graph: written.graph.growing.finish(),
      quantizer: written.graph.quantizer,
      bytesOnDisk: 0,
    }
    const lists = graph && (yield* this.#keepLists(table, vectors))
    const { memory } = this.#with
    const segment = new VectorSegment({ id, table, vectors, graph, lists, memory })
    return { segment, listed: { id, rows: { bytes: 0, sum: 0 } }, numbers }
  }

  /** Undefined for more rows than one memory has room for. */
  *#keepLists({ sizes }: RowTable, vectors: RowVectors): Sliced<RowLists | undefined> {
    const { settings, kernels } = this.#with
    const { rowCount } = sizes
    if (!fitsMemory(settings.dimension, rowCount + LISTS_MAX)) return undefined
    const source = { rowCount, row: (row: number) => vectors.block(row, 1) }
    return yield* RowLists.build({ settings, source, former: undefined, kernels })
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
