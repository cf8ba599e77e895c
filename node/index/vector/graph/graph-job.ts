// The making of a graph from a file of vectors, wherever it is done.

import { closeSync, openSync } from 'node:fs'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { readExactly, sumWritten, type FileSum } from '../files/file-sums.ts'
import { libraryOf } from './graph-libraries.ts'
import { graphShapeOf, Quantizer, type QuantizerRange } from './quantizer.ts'
import { must } from '../../../../lib/assert.ts'

/** Which graph to make: plain data. */
export interface GraphJob {
  readonly settings: DenseIndexSettings
  readonly range: QuantizerRange
  /** The vectors of `rowCount` rows, durable. */
  readonly vectorsPath: string
  readonly rowCount: number
  /** A graph of the first rows, by the same range; undefined: all rows are added. */
  readonly base: { readonly path: string; readonly rowCount: number } | undefined
  /** Where the graph goes: nothing is there yet. */
  readonly path: string
}

/** A graph that is being made. */
export interface GraphBuilding {
  /** Does a step of it, if it is done in this thread; false: another thread works on it. */
  advance(): boolean
  /** Undefined while it is under way; throws what ended it. */
  outcome(): FileSum | undefined
  /** Ends it soon. It may be called at any time. */
  cancel(): void
}

/** Makes graphs. */
export interface GraphBuilder {
  /** `onDone` may be called when there is an outcome. */
  begin(job: GraphJob, onDone: () => void): GraphBuilding
}

/** Rows that are read at once. */
const ROWS_READ = 64

/** Makes the graph: a step for each row; loading, saving and syncing are one each. */
export function* buildGraph(job: GraphJob): Sliced<FileSum> {
  const { settings, base, rowCount } = job
  const shape = graphShapeOf(settings)
  const library = must(libraryOf(settings.engine), 'a library')
  const graph =
    base === undefined ? library.grow(shape, rowCount) : library.extend(shape, base.path)
  yield
  const { dimension } = settings
  const quantizer = new Quantizer(settings, job.range)
  const buffer = new Float32Array(ROWS_READ * dimension)
  const fd = openSync(job.vectorsPath, 'r')
  try {
    for (let first = base?.rowCount ?? 0; first < rowCount; first += ROWS_READ) {
      const count = Math.min(ROWS_READ, rowCount - first)
      const bytes = new Uint8Array(buffer.buffer, 0, count * dimension * 4)
      readExactly(fd, bytes, first * dimension * 4, job.vectorsPath)
      for (let i = 0; i < count; i += 1) {
        graph.add(first + i, quantizer.encode(buffer, i * dimension))
        yield
      }
    }
  } finally {
    closeSync(fd)
  }
  graph.save(job.path)
  yield
  return yield* sumWritten(job.path)
}

/** Makes graphs in the thread that asks for them. */
export const BUILDS_HERE: GraphBuilder = {
  begin(job) {
    const work = buildGraph(job)
    let sum: FileSum | undefined
    return {
      advance() {
        const step = work.next()
        if (step.done === true) sum = step.value
        return true
      },
      outcome: () => sum,
      cancel: () => void work.return(NO_SUM),
    }
  },
}

const NO_SUM: FileSum = { bytes: 0, sum: 0 }
