import type { IndexKind } from '../../host/index-kind.ts'

/** Indexes of vectors as the main thread knows them; their engine is vector-engine.ts. */
export const VECTOR_KIND: IndexKind = {
  type: 'embeddings',
  cacheNames: ['vectors', 'postings'],
  joined: new Set(),
  /** By the vector and the number of hits: without the filter and the time. */
  identityOf(_, request) {
    if (typeof request !== 'object' || request === null) return undefined
    return ['vector', 'limit', 'effort'].map((name) => Reflect.get(request, name))
  },
}
