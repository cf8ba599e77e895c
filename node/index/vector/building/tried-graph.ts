// Grows the graph of a segment and tries it. What its codes are, the vectors decide: their sample at first, and then what
// searches find (lists/search-trial.ts).

import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { chooseCodes, tellApart, type SampledRows } from '../graph/code-check.ts'
import { formsOf, graphShapeOf, type GraphForm } from '../graph/graph-form.ts'
import { Quantizer, RangeFinder, type GraphCodes } from '../graph/quantizer.ts'
import {
  graphRowBytes,
  type GraphLibrary,
  type GrowingGraph,
  type VectorGraph,
} from '../graph/vector-graph.ts'
import type { RowSource } from '../lists/lists-builder.ts'
import { isReliable, sampleOf, type SearchTrial, type Trial } from '../lists/search-trial.ts'

/** A graph of the first rows, in a file. */
export interface FormerGraph {
  readonly path: string
  readonly rowCount: number
  readonly codes: GraphCodes
  readonly trial: Trial
}

/** What a graph is grown of. */
export interface GraphPlan {
  readonly settings: DenseIndexSettings
  readonly source: RowSource
  readonly library: GraphLibrary
  /** It is extended if its codes suit all rows. */
  readonly former: FormerGraph | undefined
  /** Made when it is needed, once. */
  readonly trial: () => Sliced<SearchTrial>
}

/** A graph of all rows. */
export interface TriedGraph {
  readonly growing: GrowingGraph
  /** The same, for searches. */
  readonly graph: VectorGraph
  readonly codes: GraphCodes
  readonly trial: Trial
}

/** No finer numbers than were asked for where a graph would be larger: it is loaded as a whole to be extended. */
const FINER_BYTES_MAX = 2 ** 31

/** A row a step; loading is one. Two forms are tried at most: a graph that neither makes reliable is kept to be extended. */
export function* growTried(plan: GraphPlan): Sliced<TriedGraph> {
  const { settings, source, former } = plan
  const sample = yield* sampleOf(source, settings.dimension)
  if (former !== undefined && (yield* suits(plan, former.codes, sample))) {
    const extended = yield* grow(plan, former.codes, former)
    if (isReliable(extended.trial) || !isReliable(former.trial)) return extended
    extended.graph.close()
  }
  const finder = yield* rangeOf(plan)
  const forms = formsOf(settings).filter((form, at) => at === 0 || fits(plan, form))
  const first = yield* grow(plan, yield* chooseCodes(settings, { forms, finder, sample }))
  if (isReliable(first.trial)) return first
  const next = forms[forms.indexOf(first.codes.form) + 1]
  if (next === undefined) return first
  first.graph.close()
  return yield* grow(plan, finder.codes(next))
}

function* suits({ settings }: GraphPlan, codes: GraphCodes, sample: SampledRows): Sliced<boolean> {
  return codes.form.numbers === 'f32' || (yield* tellApart(settings, codes, sample))
}

function fits({ settings, source }: GraphPlan, form: GraphForm): boolean {
  const bytes = graphRowBytes(graphShapeOf(settings.dimension, form))
  return bytes * source.rowCount <= FINER_BYTES_MAX
}

function* rangeOf({ settings, source }: GraphPlan): Sliced<RangeFinder> {
  const finder = new RangeFinder(settings)
  for (let row = 0; row < source.rowCount; row += 1) {
    const { vectors, at } = source.row(row)
    finder.add(vectors, at)
    yield
  }
  return finder
}

function* grow(plan: GraphPlan, codes: GraphCodes, former?: FormerGraph): Sliced<TriedGraph> {
  const { settings, source, library } = plan
  const { rowCount } = source
  const shape = graphShapeOf(settings.dimension, codes.form)
  const growing =
    former === undefined ? library.grow(shape, rowCount) : library.extend(shape, former.path)
  yield
  const quantizer = new Quantizer(settings, codes)
  for (let row = former?.rowCount ?? 0; row < rowCount; row += 1) {
    const { vectors, at } = source.row(row)
    growing.add(row, quantizer.encode(vectors, at))
    yield
  }
  const graph = growing.finish()
  const trial = yield* (yield* plan.trial()).ofGraph(graph, codes)
  return { growing, graph, codes, trial }
}
