// Pictures of the vectors of a page's hits, in the plane.

import { buildGramMatrix } from '../../query/analyses/gram-matrix.ts'
import { principalComponents } from '../../query/analyses/principal-components.ts'
import { tSne } from '../../query/analyses/t-sne.ts'
import { refuse } from '../../query/query-limits.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import type { AnalysesRequest } from '../../query/request/analyses-request.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import type { QueriedVectors } from '../tables/queried-table.ts'
import type { QueryAnalysis, QueryHit } from '../run/query-result.ts'
import type { QueryRun } from '../run/query-run.ts'

/** Documents whose vectors are read at once. */
const READ_AT_ONCE = 16
const EMBEDDINGS = '_embeddings'

/** By index, a picture of the hits that have a vector in it. */
export async function analysePage(
  run: QueryRun,
  analyses: AnalysesRequest,
  hits: readonly QueryHit[],
): Promise<Readonly<Record<string, QueryAnalysis>>> {
  const { vectorsOf } = run.table
  if (vectorsOf === undefined) return refuse('analyses', 'this node reads no stored vectors')
  const entries: [string, QueryAnalysis][] = []
  for (const name of analysedIndexes(run)) {
    const drawable: [id: string, vector: Float32Array][] = []
    for (let at = 0; at < hits.length; at += READ_AT_ONCE) {
      const some = hits.slice(at, at + READ_AT_ONCE).map(({ _id: id }) => id)
      const read = await Promise.all(some.map((id) => vectorsOf(name, Buffer.from(id), run.signal)))
      for (const [i, id] of some.entries()) drawable.push(...withVector(id, read[i]))
    }
    const ids = drawable.map(([id]) => id)
    const vectors = drawable.map(([, vector]) => vector)
    entries.push([name, { ids, ...(await run.sliced(drawn(vectors, analyses))) }])
  }
  return Object.fromEntries(entries)
}

/** A document of several vectors is drawn by the first one. */
function withVector(
  id: string,
  vectors: readonly WrittenVector[] | undefined,
): [id: string, vector: Float32Array][] {
  const first = vectors?.[0]
  return first?.kind === 'dense' ? [[id, first.vector]] : []
}

/** Those that `fields` names; all dense ones if it names none. */
function analysedIndexes({ table, request: { projection } }: QueryRun): readonly string[] {
  const paths = projection?.included.paths ?? []
  const isNamed = ({ name }: QueriedVectors): boolean =>
    paths.some(({ text }) => text === `${EMBEDDINGS}.${name}`)
  const sparse = table.vectorIndexes.find((index) => index.sparse && isNamed(index))
  if (sparse !== undefined) {
    return refuse('analyses', `draws dense vectors, and those of index "${sparse.name}" are sparse`)
  }
  const isAny = paths.some(({ text }) => text === EMBEDDINGS)
  return table.vectorIndexes
    .filter((index) => !index.sparse && (isAny || isNamed(index)))
    .map(({ name }) => name)
}

function* drawn(
  vectors: readonly Float32Array[],
  { pca, tsne }: AnalysesRequest,
): Sliced<Omit<QueryAnalysis, 'ids'>> {
  const gram = yield* buildGramMatrix(vectors)
  const points = yield* principalComponents(gram)
  return {
    ...(pca ? { pca: [...points] } : {}),
    ...(tsne ? { tsne: [...(yield* tSne(gram, points))] } : {}),
  }
}
