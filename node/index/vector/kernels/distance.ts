// Exact distances between vectors of 32-bit numbers, summed in doubles. Smaller is nearer by each metric.

import type { Metric } from '../../../embedding/settings.ts'

/** The distance of a query from the vector that begins at `at`. */
export type DistanceFrom = (vectors: Float32Array, at: number) => number

const PREPARED: Readonly<Record<Metric, (query: Float32Array) => DistanceFrom>> = {
  l2_squared: (query) => (vectors, at) => squaredDistance(query, vectors, at),
  inner_product: (query) => (vectors, at) => -dotProduct(query, vectors, at),
  cosine: (query) => {
    const queryNorm = Math.sqrt(dotProduct(query, query, 0))
    return (vectors, at) => cosineDistance(query, queryNorm, vectors, at)
  },
}

/** Σ(a−b)², −Σab or 1 − cos. What depends on the query alone is computed once. */
export function distanceFrom(metric: Metric, query: Float32Array): DistanceFrom {
  return PREPARED[metric](query)
}

// The kernels are plain functions with four sums, so that the compiler keeps all in registers and the
// additions need not wait for each other. The rest behind the last four numbers is added alone.

function squaredDistance(query: Float32Array, vectors: Float32Array, at: number): number {
  const length = query.length
  const whole = length - (length & 3)
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let i = 0; i < whole; i += 4) {
    const d0 = at0(query, i) - at0(vectors, at + i)
    const d1 = at0(query, i + 1) - at0(vectors, at + i + 1)
    const d2 = at0(query, i + 2) - at0(vectors, at + i + 2)
    const d3 = at0(query, i + 3) - at0(vectors, at + i + 3)
    s0 += d0 * d0
    s1 += d1 * d1
    s2 += d2 * d2
    s3 += d3 * d3
  }
  for (let i = whole; i < length; i += 1) {
    const difference = at0(query, i) - at0(vectors, at + i)
    s0 += difference * difference
  }
  return s0 + s1 + (s2 + s3)
}

/** Σab of a vector and the one that begins at `at`. */
export function dotProduct(query: Float32Array, vectors: Float32Array, at: number): number {
  const length = query.length
  const whole = length - (length & 3)
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let i = 0; i < whole; i += 4) {
    s0 += at0(query, i) * at0(vectors, at + i)
    s1 += at0(query, i + 1) * at0(vectors, at + i + 1)
    s2 += at0(query, i + 2) * at0(vectors, at + i + 2)
    s3 += at0(query, i + 3) * at0(vectors, at + i + 3)
  }
  for (let i = whole; i < length; i += 1) s0 += at0(query, i) * at0(vectors, at + i)
  return s0 + s1 + (s2 + s3)
}

function cosineDistance(
  query: Float32Array,
  queryNorm: number,
  vectors: Float32Array,
  at: number,
): number {
  const length = query.length
  const even = length - (length & 1)
  let [p0, p1, n0, n1] = [0, 0, 0, 0]
  for (let i = 0; i < even; i += 2) {
    const v0 = at0(vectors, at + i)
    const v1 = at0(vectors, at + i + 1)
    p0 += at0(query, i) * v0
    p1 += at0(query, i + 1) * v1
    n0 += v0 * v0
    n1 += v1 * v1
  }
  if (even < length) {
    const last = at0(vectors, at + even)
    p0 += at0(query, even) * last
    n0 += last * last
  }
  const norms = queryNorm * Math.sqrt(n0 + n1)
  return norms === 0 ? 1 : 1 - (p0 + p1) / norms
}

/** Inlined; the default only tells the compiler what the caller knows. */
function at0(numbers: Float32Array, at: number): number {
  return numbers[at] ?? 0
}
