import { ServiceError } from '../../../lib/errors.ts'
import { parseEmbeddingsConfig, showEmbeddingsConfig } from '../../embedding/embeddings-config.ts'
import type { ForeignQuestion } from '../host/index-kind.ts'
import { isSparseRequest } from '../sparse/hosted/sparse-request-shape.ts'
import { whyUnavailable } from '../vector/graph/graph-libraries.ts'
import { isNearestRequest } from '../vector/hosted/vector-request-shape.ts'
import type { VectorQuestions } from '../vector/vector-search.ts'
import type { AskedOf, IndexDescriptor } from './index-descriptor.ts'

/** Indexes of vectors, dense or sparse; their engine is rows/rows-engine.ts. */
export const VECTOR_INDEX: IndexDescriptor<'vectors', VectorQuestions> = {
  type: 'embeddings',
  kind: 'vectors',
  feed: 'artifacts',
  searchedBy: 'vectors',
  settings: { parse: parseVectors, show: showEmbeddingsConfig },
  isEnriched(settings) {
    const isObject = typeof settings === 'object' && settings !== null
    return isObject && 'external' in settings && settings.external === false
  },
  isRequest: isVectorRequest,
  cacheNames: ['vectors', 'postings'],
  joined: new Set(),
  /** By the vector and the number of hits: without the filter and the time. */
  identityOf(_, request) {
    if (typeof request !== 'object' || request === null) return undefined
    return ['vector', 'limit', 'effort'].map((name) => Reflect.get(request, name))
  },
}

function parseVectors(members: Readonly<Record<string, unknown>>, where: string): unknown {
  const settings = parseEmbeddingsConfig(members, where)
  const problem = settings.sparse ? undefined : whyUnavailable(settings)
  if (problem === undefined) return settings
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}

function isVectorRequest(
  asked: ForeignQuestion,
): asked is ForeignQuestion & AskedOf<VectorQuestions> {
  const { question, request } = asked
  return question === 'nearest' && (isNearestRequest(request) || isSparseRequest(request))
}
