import { must } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import type { IndexEngine, IndexOpening } from '../../host/index-engine.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { parseDenseSettings } from '../dense-settings.ts'
import { openDenseIndex } from '../engine/dense-index.ts'
import { defaultRowsIndexLimits, type RowsIndexLimits } from '../../rows/row-segments.ts'
import type { GraphBuilder } from '../building/graph-job.ts'
import { libraryOf } from '../graph/graph-libraries.ts'
import { formsOf, graphShapeOf } from '../graph/graph-form.ts'
import { graphRowBytes } from '../graph/vector-graph.ts'
import { runNearest } from '../search/run-nearest.ts'
import type { Kernels } from '../kernels/code-memory.ts'
import type { BlockMemory } from '../files/block-memory.ts'
import type { NearestRequest } from '../vector-search.ts'
import { vectorDocumentOf } from './vector-document.ts'
import { RowsEngine } from '../../rows/rows-engine.ts'
import { isNearestRequest } from './vector-request-shape.ts'

/** What the engines of a worker share. */
export interface DenseEngineParts {
  readonly memory: BlockMemory
  readonly kernels: Kernels
  readonly builder: GraphBuilder
  readonly disk: DiskWork
  /** No graph is larger: to be extended it is loaded into memory as a whole. */
  readonly graphBytesMax: number
  readonly limits?: RowsIndexLimits
}

/**
 * Opens an index of dense vectors. CORRUPTION if something is missing or damaged; INVALID_ARGUMENT for a definition
 * without settings; UNAVAILABLE if the library of the settings is not installed.
 */
export function* openDenseEngine(
  { definition, directory }: IndexOpening,
  parts: DenseEngineParts & { readonly onWork: () => void },
): Paced<IndexEngine> {
  const settings = parseDenseSettings(definition.settings)
  const library = libraryOf(settings.engine)
  const limits = parts.limits ?? limitsFor(settings, parts.graphBytesMax)
  const index = yield* openDenseIndex({ directory, settings, library, ...parts, limits })
  const searchedBy = { settings, kernels: parts.kernels }
  return new RowsEngine(index, {
    directory,
    documentOf: (change) => vectorDocumentOf(change, settings),
    nearest: (request) => runNearest(index, searchedBy, checkRequest(request, settings)),
  })
}

function limitsFor(settings: DenseIndexSettings, graphBytesMax: number): RowsIndexLimits {
  const { mergePolicy } = defaultRowsIndexLimits
  const [form] = formsOf(settings)
  const shape = graphShapeOf(settings.dimension, must(form, 'a form of graphs'))
  const rows = Math.floor(graphBytesMax / graphRowBytes(shape))
  const rowsMax = Math.max(rows, mergePolicy.graphRowsMin * 2)
  return { ...defaultRowsIndexLimits, mergePolicy: { ...mergePolicy, rowsMax } }
}

function checkRequest(request: unknown, { dimension }: DenseIndexSettings): NearestRequest {
  if (!isNearestRequest(request)) {
    throw new ServiceError('INVALID_ARGUMENT', 'this request for the nearest has another shape')
  }
  const given = request.vector.length
  if (given === dimension) return request
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `the index has vectors of ${dimension} numbers: one of ${given} cannot be near to them`,
  )
}
