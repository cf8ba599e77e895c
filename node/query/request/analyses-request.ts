// The `analyses` of a query: pictures of the returned vectors in the plane.

import type { Projection } from '../../document/projection.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { checkMembers, flagOf } from '../language/query-clause.ts'
import { refuse } from '../query-limits.ts'
import type { Clause } from '../language/query-clause.ts'

/** The time of t-SNE grows with the square of the hits: these take one to one and a half seconds of processor time. */
export const ANALYSED_MAX = 500

/** Which pictures are drawn: at least one. */
export interface AnalysesRequest {
  readonly pca: boolean
  readonly tsne: boolean
}

const EMBEDDINGS = '_embeddings'

/** Undefined if the query asks for none. */
export function parseAnalyses(
  body: Clause,
  projection: Projection | undefined,
): AnalysesRequest | undefined {
  const members = memberOf(body.members, 'analyses')
  if (members === undefined) return undefined
  if (!isJsonObject(members)) return refuse('analyses', 'must be an object: {"pca", "tsne"}')
  const clause: Clause = { ...body, members, where: 'analyses' }
  checkMembers(clause, ['pca', 'tsne'])
  const analyses = { pca: flagOf(clause, 'pca', false), tsne: flagOf(clause, 'tsne', false) }
  if (!analyses.pca && !analyses.tsne) return undefined
  const paths = projection?.included.paths ?? []
  if (paths.some(({ segments }) => segments[0] === EMBEDDINGS)) return analyses
  return refuse('analyses', `draws the returned vectors: name "${EMBEDDINGS}" in fields`)
}
