// The making of a graph and of lists from a file of vectors, wherever it is done.

import { rmSync } from 'node:fs'
import { assert, must } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { DISK_WORK_HERE } from '../../files/disk-work.ts'
import { FileWriter, sumWritten, type FileSum } from '../../rows/file-sums.ts'
import { BlockMemory } from '../files/block-memory.ts'
import { libraryOf } from '../graph/graph-libraries.ts'
import type { GraphCodes } from '../graph/quantizer.ts'
import { Kernels } from '../kernels/code-memory.ts'
import { buildLists, type FormerLists } from '../lists/lists-builder.ts'
import { readFormerLists } from '../lists/lists-file.ts'
import { RowLists } from '../lists/row-lists.ts'
import { isReliable, SearchTrial, type Trial } from '../lists/search-trial.ts'
import { FileRows } from './file-rows.ts'
import { growTried, type FormerGraph } from './tried-graph.ts'

/** Which graph to make: plain data. */
export interface GraphJob {
  /** False: lists alone. */
  readonly makesGraph: boolean
  readonly settings: DenseIndexSettings
  /** The vectors of `rowCount` rows, durable. */
  readonly vectorsPath: string
  readonly rowCount: number
  /** What there is of the first rows, to be extended. */
  readonly base: GraphBase
  /** Where they go: nothing is there yet. */
  readonly files: GraphFiles
}

/** What is extended; undefined: all rows are added. */
export interface GraphBase {
  readonly graph: FormerGraph | undefined
  readonly lists: { readonly path: string; readonly trial: Trial } | undefined
}

/** By path. */
export interface GraphFiles {
  readonly graph: string
  readonly lists: string
}

/** Files that are durable, and how well searches find rows by them. */
export interface BuiltGraph {
  /** Undefined for lists alone. */
  readonly graph: BuiltFile | undefined
  /** How vectors become the numbers of the graph. */
  readonly codes: GraphCodes | undefined
  readonly lists: BuiltFile
}

export type BuiltFile = FileSum & { readonly trial: Trial }

/** A graph that is being made. */
export interface GraphBuilding {
  /** Does a step of the job, if this thread does it; false: another thread works on it. */
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
  let trial: SearchTrial | undefined
  const building = {
    job,
    source,
    *trial(): Sliced<SearchTrial> {
      trial ??= yield* SearchTrial.prepare(job.settings, source)
      return trial
    },
  }
  const graph = job.makesGraph ? yield* growGraph(building) : undefined
  const lists = yield* makeLists(building)
  return { graph: graph?.file, codes: graph?.codes, lists }
}

interface Building {
  readonly job: GraphJob
  readonly source: FileRows
  readonly trial: () => Sliced<SearchTrial>
}

function* growGraph({
  job,
  source,
  trial,
}: Building): Paced<{ file: BuiltFile; codes: GraphCodes }> {
  const { settings, base, files } = job
  const library = must(libraryOf(settings.engine), 'a library')
  const tried = yield* growTried({ settings, source, library, former: base.graph, trial })
  try {
    tried.growing.save(files.graph)
  } finally {
    tried.graph.close()
  }
  yield
  const sum = yield* sumWritten(files.graph)
  return { file: { ...sum, trial: tried.trial }, codes: tried.codes }
}

/** Where the former centers are not good enough for all rows, lists are made once more with others. */
function* makeLists(building: Building): Paced<BuiltFile> {
  const { base, files } = building.job
  const former = base.lists
  if (former !== undefined) {
    const sum = yield* writeLists(building, readFormerLists(former.path))
    const trial = yield* tryLists(building, sum)
    if (isReliable(trial) || !isReliable(former.trial)) return { ...sum, trial }
    rmSync(files.lists)
  }
  const sum = yield* writeLists(building, undefined)
  return { ...sum, trial: yield* tryLists(building, sum) }
}

function* writeLists({ job, source }: Building, former: FormerLists | undefined): Paced<FileSum> {
  const { settings, files } = job
  const out = new FileWriter(files.lists, DISK_WORK_HERE)
  try {
    const plan = { settings, source, former, kernels: new Kernels() }
    yield* buildLists(plan, (bytes) => writeHere(out, bytes))
    return yield* out.finish()
  } finally {
    out.close()
  }
}

function* tryLists({ job, trial }: Building, sum: FileSum): Sliced<Trial> {
  const { lists: path } = job.files
  // The thread does nothing else, so its memory has no bound here.
  const memory = new BlockMemory(Infinity)
  const lists = yield* RowLists.open({ path, name: path, memory, kernels: new Kernels() }, sum)
  try {
    return yield* (yield* trial()).ofLists(lists)
  } finally {
    lists.close()
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

const NO_FILE: BuiltFile = { bytes: 0, sum: 0, trial: { found: 0 } }
const NOTHING: BuiltGraph = { graph: undefined, codes: undefined, lists: NO_FILE }
