// The making of a graph and of lists from a file of vectors, wherever it is done.

import { assert, must } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { DISK_WORK_HERE } from '../../files/disk-work.ts'
import { FileWriter, sumWritten, type FileSum } from '../files/file-sums.ts'
import { Kernels } from '../kernels/code-memory.ts'
import { FileRows } from './file-rows.ts'
import { buildLists } from '../lists/lists-builder.ts'
import { readFormerLists } from '../lists/lists-file.ts'
import { libraryOf } from '../graph/graph-libraries.ts'
import { graphShapeOf, Quantizer, type QuantizerRange } from '../graph/quantizer.ts'

/** Which graph to make: plain data. */
export interface GraphJob {
  /** False: lists alone. */
  readonly makesGraph: boolean
  readonly settings: DenseIndexSettings
  readonly range: QuantizerRange
  /** The vectors of `rowCount` rows, durable. */
  readonly vectorsPath: string
  readonly rowCount: number
  /** What there is of the first rows, to be extended; undefined: all rows are added. */
  readonly base: GraphBase | undefined
  /** Where they go: nothing is there yet. */
  readonly files: GraphFiles
}

/** What is extended, by path: a graph by the same range, and lists, or one of both. */
export interface GraphBase {
  readonly graph: string | undefined
  readonly lists: string | undefined
  readonly rowCount: number
}

/** By path. */
export interface GraphFiles {
  readonly graph: string
  readonly lists: string
}

/** Files that are durable. */
export interface BuiltGraph {
  /** Undefined for lists alone. */
  readonly graph: FileSum | undefined
  readonly lists: FileSum
}

/** A graph that is being made. */
export interface GraphBuilding {
  /** Does a step of it, if it is done in this thread; false: another thread works on it. */
  advance(): boolean
  /** Undefined while it is under way; throws what ended it. */
  outcome(): BuiltGraph | undefined
  /** Ends it soon. It may be called at any time. */
  cancel(): void
}

/** Makes graphs. */
export interface GraphBuilder {
  /** `onDone` may be called when there is an outcome. */
  begin(job: GraphJob, onDone: () => void): GraphBuilding
}

/**
 * Makes the graph, a step for each row; loading, saving and syncing are one each. Then the lists, in small steps. It
 * waits for the disk in its thread, which is one that nobody waits for.
 */
export function* buildGraph(job: GraphJob): Paced<BuiltGraph> {
  const { dimension } = job.settings
  using source = new FileRows(job.vectorsPath, { dimension, rowCount: job.rowCount })
  const graph = job.makesGraph ? yield* growGraph(job, source) : undefined
  return { graph, lists: yield* writeLists(job, source) }
}

function* growGraph(job: GraphJob, source: FileRows): Paced<FileSum> {
  const { settings, base, rowCount } = job
  const shape = graphShapeOf(settings)
  const library = must(libraryOf(settings.engine), 'a library')
  const former = base?.graph
  const graph = former === undefined ? library.grow(shape, rowCount) : library.extend(shape, former)
  yield
  const quantizer = new Quantizer(settings, job.range)
  for (let row = former === undefined ? 0 : (base?.rowCount ?? 0); row < rowCount; row += 1) {
    const { vectors, at } = source.row(row)
    graph.add(row, quantizer.encode(vectors, at))
    yield
  }
  graph.save(job.files.graph)
  yield
  return yield* sumWritten(job.files.graph)
}

function* writeLists({ settings, base, files }: GraphJob, source: FileRows): Paced<FileSum> {
  const former = base?.lists === undefined ? undefined : readFormerLists(base.lists)
  const out = new FileWriter(files.lists, DISK_WORK_HERE)
  try {
    const plan = { settings, source, former, kernels: new Kernels() }
    yield* buildLists(plan, (bytes) => writeHere(out, bytes))
    return yield* out.finish()
  } finally {
    out.close()
  }
}

function* writeHere(out: FileWriter, bytes: Uint8Array): Sliced<void> {
  for (const waited of out.write(bytes)) {
    assert(waited === undefined, 'the disk works in this thread')
    yield
  }
}

/** Makes graphs in the thread that asks for them. */
export const BUILDS_HERE: GraphBuilder = {
  begin(job) {
    const work = buildGraph(job)
    let built: BuiltGraph | undefined
    return {
      advance() {
        const step = work.next()
        if (step.done === true) built = step.value
        return true
      },
      outcome: () => built,
      cancel: () => void work.return(NOTHING),
    }
  },
}

const NO_SUM: FileSum = { bytes: 0, sum: 0 }
const NOTHING: BuiltGraph = { graph: undefined, lists: NO_SUM }
