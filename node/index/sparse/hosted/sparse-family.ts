import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced } from '../../../../lib/sliced.ts'
import type {
  EngineFamily,
  FamilyParts,
  IndexEngine,
  IndexOpening,
  OnWork,
} from '../../host/index-engine.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import type { RowsIndexLimits } from '../../rows/row-segments.ts'
import { RowsEngine } from '../../rows/rows-engine.ts'
import { PostingsCache } from '../postings/postings-bytes.ts'
import { runSparse } from '../search/run-sparse.ts'
import { openSparseIndex } from '../segment/sparse-index.ts'
import { sparseSettingsOf } from '../sparse-settings.ts'
import { sparseDocumentOf } from './sparse-document.ts'
import { isSparseRequest } from './sparse-request-shape.ts'

/** The shares of the worker's memory for tails, and for postings that were read: dense vectors have half of it. */
const TAILS_SHARE = 1 / 4
const POSTINGS_SHARE = 1 / 8

/** What the engines of a worker share. */
interface SparseEngineParts {
  readonly cache: PostingsCache
  readonly disk: DiskWork
  readonly onWork: OnWork
  /** What tests choose. */
  readonly limits: RowsIndexLimits | undefined
}

/** The engines of sparse vectors of one worker: they share bounds for what they keep in memory. */
export function openSparseFamily(
  { memoryBytesMax, disk }: FamilyParts,
  limits?: RowsIndexLimits,
): EngineFamily {
  const cache = new PostingsCache(memoryBytesMax * POSTINGS_SHARE)
  return {
    unflushedBytesMax: memoryBytesMax * TAILS_SHARE,
    *open(opening, onWork = nobody) {
      return { kind: 'open', engine: yield* openEngine(opening, { cache, limits, disk, onWork }) }
    },
    caches() {
      const { hits, misses, bytes } = cache
      return { postings: { hits, misses, bytes } }
    },
  }
}

function* openEngine(
  { definition, directory }: IndexOpening,
  parts: SparseEngineParts,
): Paced<IndexEngine> {
  const settings = sparseSettingsOf(definition.settings)
  const index = yield* openSparseIndex({ directory, settings, ...parts })
  return new RowsEngine(index, {
    directory,
    documentOf: (change) => sparseDocumentOf(change, settings),
    nearest(request) {
      if (isSparseRequest(request)) return runSparse(index, request)
      const problem = 'this request for the nearest is not one with a sparse vector'
      throw new ServiceError('INVALID_ARGUMENT', problem)
    },
  })
}

/** The caller that opened the index asks `maintain` again by itself. */
const nobody: OnWork = () => undefined
