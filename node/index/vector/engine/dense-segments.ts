// Segments of dense vectors: their exact vectors, and graphs of them.
//
// Invariants:
//   VF2  Nothing reads a graph's file whose sum was not verified since the opening, or that we did not write:
//        a damaged one would end the process.

import { must } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { verifyFile } from '../files/file-sums.ts'
import type { GraphBase, GraphFiles, GraphJob } from '../building/graph-job.ts'
import { growTried } from '../building/tried-graph.ts'
import { fitsMemory, type Kernels } from '../kernels/code-memory.ts'
import { LISTS_MAX } from '../lists/list-centers.ts'
import { RowLists } from '../lists/row-lists.ts'
import { isReliable, SearchTrial } from '../lists/search-trial.ts'
import { graphShapeOf, numberOfForm } from '../graph/graph-form.ts'
import { Quantizer, type GraphCodes } from '../graph/quantizer.ts'
import type { GraphLibrary } from '../graph/vector-graph.ts'
import type { DenseRows } from '../segment/document-rows.ts'
import { RowTable, setCodedBy, type TableBytes } from '../segment/row-table.ts'
import { FileVectors, KeptVectors, type RowVectors } from '../segment/row-vectors.ts'
import type { VectorMemory } from '../files/vector-memory.ts'
import { writeRows, type SegmentPlan, type WrittenRows } from '../segment/segment-writer.ts'
import {
  codesOf,
  VectorSegment,
  type SegmentGraph,
  type SegmentParts,
  type SegmentTrials,
} from '../segment/vector-segment.ts'
import type { ManifestSegment, TriedFile } from './manifest.ts'
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
  readonly graph: TriedFile | undefined
  readonly listed: TriedFile | undefined
  readonly lists: RowLists | undefined
}

type DenseOrder = SegmentOrder<DenseRows, VectorSegment>

interface Writing {
  readonly order: DenseOrder
  readonly plan: SegmentPlan
  readonly make: MakeGraph
}

/** Directories with another number are built again. */
const DENSE_FORMAT = 2

/** The segments of an index of dense vectors. */
export class DenseSegments extends SegmentStore<DenseRows, VectorSegment> {
  readonly #with: DenseSegmentsOptions

  constructor(options: DenseSegmentsOptions) {
    super({ ...options, settings: { ...options.settings, format: DENSE_FORMAT } })
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
    const { settings } = this.#with
    const plan = { settings, inputs: order.inputs, hasGraph: order.makes === 'graph' }
    if (!this.isDurable) return this.#keepInMemory(id, plan)
    return this.#writeFiles(id, { order, plan, make })
  }

  *open(listed: ManifestSegment): Sliced<VectorSegment> {
    const { id, graph, lists } = listed
    const table = yield* this.readTable(listed, this.#with.settings.dimension)
    if (graph !== undefined) {
      yield* verifyFile(this.path(`${id}.graph`), `${id}.graph`, graph)
    }
    const opened = lists && (yield* this.#openLists(id, lists))
    return this.#openFiles(id, table, { graph, listed: lists, lists: opened })
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
      if (order.makes === 'rows') {
        const rows = yield* this.writeTable(id, table)
        return { segment: this.#openFiles(id, new RowTable(table)), listed: { id, rows }, numbers }
      }
      const built = yield* make(this.#jobOf(id, written, order))
      if (built.codes !== undefined) setCodes(table, built.codes)
      const rows = yield* this.writeTable(id, table)
      const lists = yield* this.#openLists(id, built.lists)
      const { graph } = built
      const opened = { graph, listed: built.lists, lists }
      const segment = this.#openFiles(id, new RowTable(table), opened)
      const listed = { id, rows, lists: built.lists, ...(graph === undefined ? {} : { graph }) }
      return { segment, listed, numbers }
    } finally {
      out.close()
    }
  }

  #jobOf(id: number, { table }: WrittenRows, { base, makes }: DenseOrder): GraphJob {
    return {
      makesGraph: makes === 'graph',
      settings: this.#with.settings,
      vectorsPath: this.path(`${id}.vectors`),
      rowCount: table.sizes.rowCount,
      base: this.#baseOf(base),
      files: this.#graphFiles(id),
    }
  }

  #baseOf(base: VectorSegment | undefined): GraphBase {
    if (base === undefined) return { graph: undefined, lists: undefined }
    const { id, rowCount, trials } = base
    const files = this.#graphFiles(id)
    const graph = trials.graph && {
      path: files.graph,
      rowCount,
      // A copy: the center is a part of the table.
      codes: { ...base.codes, center: base.codes.center.slice() },
      trial: trials.graph,
    }
    return { graph, lists: trials.lists && { path: files.lists, trial: trials.lists } }
  }

  #graphFiles(id: number): GraphFiles {
    return { graph: this.path(`${id}.graph`), lists: this.path(`${id}.lists`) }
  }

  /** Undefined for lists by which searches would find too little. Their file is verified all the same. */
  *#openLists(id: number, lists: TriedFile): Sliced<RowLists | undefined> {
    const { memory, kernels } = this.#with
    const name = `${id}.lists`
    const path = this.path(name)
    if (isReliable(lists.trial)) return yield* RowLists.open({ path, name, memory, kernels }, lists)
    yield* verifyFile(path, name, lists)
    return undefined
  }

  /** Takes the lists: they are closed if it fails. */
  #openFiles(id: number, table: RowTable, built?: OpenedGraph): VectorSegment {
    const name = `${id}.vectors`
    const shape = { ...table.sizes, sums: table.sections.sums }
    const { memory } = this.#with
    let vectors: FileVectors | undefined
    try {
      const usable = built?.graph && isReliable(built.graph.trial) ? built.graph : undefined
      const isScanned = usable === undefined && built?.lists === undefined
      vectors = new FileVectors({ path: this.path(name), name, memory, isScanned }, shape)
      const graph = usable && this.#viewGraph(id, table)
      const lists = built?.lists
      return new VectorSegment({
        id,
        table,
        vectors,
        trials: trialsOf(built),
        graph,
        lists,
        memory,
      })
    } catch (error) {
      vectors?.close()
      built?.lists?.close()
      throw error
    }
  }

  #viewGraph(id: number, table: RowTable): SegmentGraph {
    const { settings, library } = this.#with
    const codes = codesOf(table)
    const shape = graphShapeOf(settings.dimension, codes.form)
    const graph = must(library, 'a library').view(shape, this.path(`${id}.graph`))
    return { graph, numbers: codes.form.numbers, quantizer: new Quantizer(settings, codes) }
  }

  *#keepInMemory(id: number, plan: SegmentPlan): Paced<WrittenSegment<VectorSegment> | undefined> {
    const kept = new KeptVectors()
    const written = yield* writeRows(plan, (vectors) => kept.add(vectors))
    if (written === undefined) return undefined
    const { numbers } = written
    const { memory } = this.#with
    const table = new RowTable(written.table)
    const vectors = yield* kept.join(table.sizes)
    const built = plan.hasGraph ? yield* this.#growInMemory(table, vectors) : NOTHING_BUILT
    const segment = new VectorSegment({ id, table, vectors, ...built, memory })
    return { segment, listed: { id, rows: { bytes: 0, sum: 0 } }, numbers }
  }

  *#growInMemory({ sizes }: RowTable, vectors: RowVectors): Sliced<BuiltInMemory> {
    const { settings, kernels } = this.#with
    const library = must(this.#with.library, 'a library')
    const { rowCount } = sizes
    const source = { rowCount, row: (row: number) => vectors.block(row, 1) }
    const searches = yield* SearchTrial.prepare(settings, source)
    const plan = { settings, source, library, former: undefined, trial: () => given(searches) }
    const tried = yield* growTried(plan)
    const graph = {
      graph: tried.graph,
      numbers: tried.codes.form.numbers,
      quantizer: new Quantizer(settings, tried.codes),
    }
    // For more rows than one memory has room for there are none.
    const lists = fitsMemory(settings.dimension, rowCount + LISTS_MAX)
      ? yield* RowLists.build({ settings, source, former: undefined, kernels })
      : undefined
    const ofLists = lists && (yield* searches.ofLists(lists))
    return {
      trials: { graph: tried.trial, lists: ofLists, bytesOnDisk: 0 },
      graph: isReliable(tried.trial) ? graph : undefined,
      lists: ofLists !== undefined && isReliable(ofLists) ? lists : undefined,
    }
  }
}

function* given(searches: SearchTrial): Sliced<SearchTrial> {
  yield
  return searches
}

type BuiltInMemory = Pick<SegmentParts, 'trials' | 'graph' | 'lists'>

const NOTHING_BUILT: BuiltInMemory = {
  trials: { graph: undefined, lists: undefined, bytesOnDisk: 0 },
  graph: undefined,
  lists: undefined,
}

function trialsOf(built: OpenedGraph | undefined): SegmentTrials {
  const { graph, listed } = built ?? {}
  const bytesOnDisk = (graph?.bytes ?? 0) + (listed?.bytes ?? 0)
  return { graph: graph?.trial, lists: listed?.trial, bytesOnDisk }
}

function setCodes(table: TableBytes, { form, center, scale }: GraphCodes): void {
  table.sections.center.set(center)
  setCodedBy(table, { form: numberOfForm(form), scale })
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
