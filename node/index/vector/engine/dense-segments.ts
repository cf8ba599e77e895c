// Segments of dense vectors: their exact vectors, and graphs of them.
//
// Invariants:
//   VF1  Nothing reads a graph's file whose sum was not verified since the opening, or that we did not write:
//        a damaged one would end the process.

import { must } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { verifyFile } from '../../rows/file-sums.ts'
import { RowTable, setCodedBy, type TableBytes } from '../../rows/row-table.ts'
import {
  defaultRowsIndexLimits,
  inputsOf,
  RowSegments,
  type RowsIndexLimits,
  type RowsPlan,
} from '../../rows/row-segments.ts'
import type { ListedRows } from '../../rows/rows-format.ts'
import type { FoundBy } from '../../rows/rows-merge-policy.ts'
import { LivePart } from '../../segments/live-part.ts'
import type { SegmentPlace } from '../../segments/segment-files.ts'
import type { SegmentOrder, WrittenSegment } from '../../segments/segment-kind.ts'
import type {
  BuiltFile,
  BuiltGraph,
  GraphBase,
  GraphBuilder,
  GraphFiles,
  GraphJob,
} from '../building/graph-job.ts'
import { growTried } from '../building/tried-graph.ts'
import type { BlockMemory } from '../files/block-memory.ts'
import { graphShapeOf, numberOfForm } from '../graph/graph-form.ts'
import { Quantizer, type GraphCodes } from '../graph/quantizer.ts'
import type { GraphLibrary } from '../graph/vector-graph.ts'
import { fitsMemory, type Kernels } from '../kernels/code-memory.ts'
import { LISTS_MAX } from '../lists/list-centers.ts'
import { RowLists } from '../lists/row-lists.ts'
import { isReliable, SearchTrial } from '../lists/search-trial.ts'
import { FileVectors, KeptVectors, type RowVectors } from '../segment/row-vectors.ts'
import { writeRows, type WritingPlan, type WrittenRows } from '../segment/vector-segment-writer.ts'
import {
  codesOf,
  VectorSegment,
  type SegmentGraph,
  type SegmentParts,
  type SegmentTrials,
} from '../segment/vector-segment.ts'
import { VectorTail } from './vector-tail.ts'

/** What segments of dense vectors are made with. */
export interface DenseSegmentsOptions extends SegmentPlace {
  readonly settings: DenseIndexSettings
  /** Undefined for an index without graphs. */
  readonly library: GraphLibrary | undefined
  readonly memory: BlockMemory
  readonly kernels: Kernels
  readonly builder: GraphBuilder
  readonly limits?: RowsIndexLimits | undefined
}

/** A segment of a checkpoint. */
export interface DenseListed extends ListedRows {
  /** Absent if the segment has no graph. */
  readonly graph?: BuiltFile
  /** Absent in a segment of few rows. */
  readonly lists?: BuiltFile
}

/** What the manifest says of a graph, and the lists beside it, or alone. */
interface OpenedGraph {
  readonly graph: BuiltFile | undefined
  readonly listed: BuiltFile | undefined
  readonly lists: RowLists | undefined
}

type DenseInput = VectorTail | VectorSegment
type DensePart = LivePart<VectorSegment>
type DenseOrder = SegmentOrder<LivePart<VectorTail> | DensePart, RowsPlan>
type Written = WrittenSegment<DensePart, DenseListed>

interface Writing {
  readonly order: DenseOrder
  readonly plan: WritingPlan
}

/** Directories with another number are built again. */
const DENSE_FORMAT = 2

/** The segments of an index of dense vectors. */
export class DenseSegments extends RowSegments<VectorTail, VectorSegment, DenseListed> {
  readonly #with: DenseSegmentsOptions

  constructor(options: DenseSegmentsOptions) {
    const { limits = defaultRowsIndexLimits } = options
    const settings = { ...options.settings, format: DENSE_FORMAT }
    super(options, { settings, endings: ENDINGS, endingsOf }, limits)
    this.#with = options
  }

  protected get hasGraphs(): boolean {
    return this.#with.library !== undefined
  }

  protected newTail(): VectorTail {
    return new VectorTail(this.#with.settings.dimension)
  }

  write(order: DenseOrder): Paced<Written | undefined> {
    const { settings } = this.#with
    const plan = {
      settings,
      inputs: inputsOf<DenseInput>(order),
      hasGraph: order.plan?.makes === 'graph',
    }
    return this.files.isDurable
      ? this.#writeFiles({ order, plan })
      : this.#keepInMemory(order.id, plan)
  }

  *open(listed: DenseListed): Sliced<DensePart> {
    const { id, graph, lists } = listed
    const table = yield* this.readTable(listed, this.#with.settings.dimension)
    if (graph !== undefined) {
      yield* verifyFile(this.files.path(`${id}.graph`), `${id}.graph`, graph)
    }
    const opened = lists && (yield* this.#openLists(id, lists))
    return new LivePart(this.#openFiles(id, table, { graph, listed: lists, lists: opened }))
  }

  *#writeFiles({ order, plan }: Writing): Paced<Written | undefined> {
    const { id } = order
    const out = this.newWriter(`${id}.vectors`)
    try {
      const written = yield* writeRows(plan, (vectors) => out.write(bytesOf(vectors)))
      if (written === undefined) return undefined
      yield* out.finish()
      const { table, numbers } = written
      const { makes = 'rows' } = order.plan ?? {}
      if (makes === 'rows') {
        const rows = yield* this.writeTable(id, table)
        const live = new LivePart(this.#openFiles(id, new RowTable(table)))
        return { live, listed: { id, rows }, numbers }
      }
      const built = yield* this.#build(this.#jobOf(order, written, makes))
      if (built.codes !== undefined) setCodes(table, built.codes)
      const rows = yield* this.writeTable(id, table)
      const lists = yield* this.#openLists(id, built.lists)
      const { graph } = built
      const opened = { graph, listed: built.lists, lists }
      const live = new LivePart(this.#openFiles(id, new RowTable(table), opened))
      const listed = { id, rows, lists: built.lists, ...(graph === undefined ? {} : { graph }) }
      return { live, listed, numbers }
    } finally {
      out.close()
    }
  }

  *#build(job: GraphJob): Paced<BuiltGraph> {
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

  #jobOf({ id, inputs, plan }: DenseOrder, { table }: WrittenRows, makes: FoundBy): GraphJob {
    const [first] = inputs
    const base = plan?.base === undefined ? undefined : first?.live.source
    return {
      makesGraph: makes === 'graph',
      settings: this.#with.settings,
      vectorsPath: this.files.path(`${id}.vectors`),
      rowCount: table.sizes.rowCount,
      base: this.#baseOf(plan?.base, base),
      files: this.#graphFiles(id),
    }
  }

  #baseOf(id: number | undefined, base: VectorTail | VectorSegment | undefined): GraphBase {
    if (id === undefined || !(base instanceof VectorSegment)) {
      return { graph: undefined, lists: undefined }
    }
    const { rowCount, trials } = base
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
    return { graph: this.files.path(`${id}.graph`), lists: this.files.path(`${id}.lists`) }
  }

  /** Undefined for lists by which searches would find too little. Their file is verified all the same. */
  *#openLists(id: number, lists: BuiltFile): Sliced<RowLists | undefined> {
    const { memory, kernels } = this.#with
    const name = `${id}.lists`
    const path = this.files.path(name)
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
      vectors = new FileVectors({ path: this.files.path(name), name, memory, isScanned }, shape)
      const graph = usable && this.#viewGraph(id, table)
      const lists = built?.lists
      return new VectorSegment({ table, vectors, trials: trialsOf(built), graph, lists, memory })
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
    const graph = must(library, 'a library').view(shape, this.files.path(`${id}.graph`))
    return { graph, numbers: codes.form.numbers, quantizer: new Quantizer(settings, codes) }
  }

  *#keepInMemory(id: number, plan: WritingPlan): Paced<Written | undefined> {
    const kept = new KeptVectors()
    const written = yield* writeRows(plan, (vectors) => kept.add(vectors))
    if (written === undefined) return undefined
    const { numbers } = written
    const { memory } = this.#with
    const table = new RowTable(written.table)
    const vectors = yield* kept.join(table.sizes)
    const built = plan.hasGraph ? yield* this.#growInMemory(table, vectors) : NOTHING_BUILT
    const live = new LivePart(new VectorSegment({ table, vectors, ...built, memory }))
    return { live, listed: { id, rows: { bytes: 0, sum: 0 } }, numbers }
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
    // Rows that do not fit into one memory get no lists.
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

const ENDINGS = ['vectors', 'graph', 'lists'] as const

function endingsOf({ graph, lists }: DenseListed): readonly string[] {
  const names = ['vectors']
  if (graph !== undefined) names.push('graph')
  if (lists !== undefined) names.push('lists')
  return names
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
