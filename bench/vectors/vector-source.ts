// Seeded vectors in clusters, as embeddings of texts lie: those of one topic are near to each other.

import { must } from '../../lib/assert.ts'
import { seededRandom, type Random } from '../../lib/random.ts'

/** Numbers of an embedding of a small text model. */
export const DIMENSION = 384
/** Topics for a hundred thousand documents; more documents have more topics. */
const DOCUMENTS_PER_CLUSTER = 1000
/** How far a document lies from its topic, as a share of the distance between topics. */
const SPREAD = 0.6

/** The vectors of a benchmark: documents by number, and queries. */
export interface VectorSource {
  readonly count: number
  readonly queries: readonly Float32Array[]
  vectorOf(number: number): Float32Array
  /** The topic of a document, and of a query. */
  clusterOf(number: number): number
}

export function buildVectorSource(
  seed: number,
  { count, queries }: { readonly count: number; readonly queries: number },
): VectorSource {
  const random = seededRandom(seed)
  const clusters = Math.max(10, Math.round(count / DOCUMENTS_PER_CLUSTER))
  const centers = Array.from({ length: clusters }, () => normals(random))
  const clusterOf = (number: number): number => number % clusters
  const draw = (number: number): Float32Array => {
    const center = must(centers[clusterOf(number)], 'a topic')
    return normals(random).map((value, i) => (center[i] ?? 0) + SPREAD * value)
  }
  const all = new Float32Array(count * DIMENSION)
  for (let number = 0; number < count; number += 1) all.set(draw(number), number * DIMENSION)
  return {
    count,
    queries: Array.from({ length: queries }, (_, number) => draw(number)),
    vectorOf: (number) => all.subarray(number * DIMENSION, (number + 1) * DIMENSION),
    clusterOf,
  }
}

function normals(random: Random): Float32Array {
  return Float32Array.from({ length: DIMENSION }, () => {
    return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  })
}

/** The numbers of the documents nearest to a query by the angle, compared with each that passes. */
export function nearestExactly(
  source: VectorSource,
  query: Float32Array,
  { limit, passes }: { readonly limit: number; readonly passes: (number: number) => boolean },
): readonly number[] {
  const found: { number: number; score: number }[] = []
  for (let number = 0; number < source.count; number += 1) {
    if (!passes(number)) continue
    const score = cosine(query, source.vectorOf(number))
    const worst = found.at(-1)
    if (found.length === limit && worst !== undefined && score <= worst.score) continue
    found.push({ number, score })
    found.sort((a, b) => b.score - a.score)
    if (found.length > limit) found.pop()
  }
  return found.map(({ number }) => number)
}

function cosine(query: Float32Array, vector: Float32Array): number {
  let [product, norm] = [0, 0]
  for (let i = 0; i < DIMENSION; i += 1) {
    const value = vector[i] ?? 0
    product += (query[i] ?? 0) * value
    norm += value * value
  }
  return product / Math.sqrt(norm)
}
