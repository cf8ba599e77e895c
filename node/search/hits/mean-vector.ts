// The vector of a document in several parts, when it is searched by.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { SPARSE_TERMS_MAX } from '../../embedding/sparse-rules.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import type { VectorSpace } from '../../query/request/vector-check.ts'

type Dense = Extract<WrittenVector, { kind: 'dense' }>
type Sparse = Extract<WrittenVector, { kind: 'sparse' }>

const NUMBERS_PER_STEP = 250_000
/** Terms go through a map. */
const TERMS_PER_STEP = 10_000

/** The middle of the parts, of which there is at least one; by cosine they are weighted equally. */
export function* meanVector(
  vectors: readonly WrittenVector[],
  space: VectorSpace,
): Sliced<WrittenVector> {
  const [first] = vectors
  if (first !== undefined && vectors.length === 1) return first
  const dense = vectors.filter((one): one is Dense => one.kind === 'dense')
  const sparse = vectors.filter((one): one is Sparse => one.kind === 'sparse')
  return space.sparse
    ? yield* meanOfSparse(sparse)
    : yield* meanOfDense(dense, space.metric === 'cosine')
}

function* meanOfDense(vectors: readonly Dense[], isByDirection: boolean): Sliced<Dense> {
  const meter = new StepMeter(NUMBERS_PER_STEP)
  const sum = new Float64Array(vectors[0]?.vector.length ?? 0)
  for (const { vector } of vectors) {
    if (meter.spend(vector.length)) yield
    let squares = 0
    for (const one of vector) squares += one * one
    const share = isByDirection && squares > 0 ? 1 / Math.sqrt(squares) : 1
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (vector[i] ?? 0) * share
  }
  return { kind: 'dense', vector: Float32Array.from(sum, (one) => one / vectors.length) }
}

/** The heaviest terms, if there are more than a search may have. */
function* meanOfSparse(vectors: readonly Sparse[]): Sliced<Sparse> {
  const meter = new StepMeter(TERMS_PER_STEP)
  const sums = new Map<number, number>()
  for (const { terms, weights } of vectors) {
    for (const [at, term] of terms.entries()) {
      sums.set(term, (sums.get(term) ?? 0) + (weights[at] ?? 0) / vectors.length)
    }
    if (meter.spend(terms.length)) yield
  }
  const heaviest = [...sums].toSorted(([a, x], [b, y]) => y - x || a - b).slice(0, SPARSE_TERMS_MAX)
  const ascending = heaviest.toSorted(([a], [b]) => a - b)
  return {
    kind: 'sparse',
    terms: Uint32Array.from(ascending, ([term]) => term),
    weights: Float32Array.from(ascending, ([, weight]) => weight),
  }
}
