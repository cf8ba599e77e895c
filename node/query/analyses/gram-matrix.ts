import { StepMeter, type Sliced } from '../../../lib/sliced.ts'

/** Multiplications in about a millisecond. */
const PRODUCTS_PER_STEP = 500_000

/** The inner products of points with each other, row by row. */
export interface GramMatrix {
  readonly count: number
  /** `count` × `count`, symmetric. */
  readonly products: Float64Array
}

/** The inner products of vectors of one dimension, measured from their mean. */
export function* buildGramMatrix(vectors: readonly Float32Array[]): Sliced<GramMatrix> {
  const meter = new StepMeter(PRODUCTS_PER_STEP)
  const count = vectors.length
  const dimension = vectors[0]?.length ?? 0
  const centred = yield* centre(vectors, dimension, meter)
  const products = new Float64Array(count * count)
  for (let row = 0; row < count; row++) {
    for (let column = 0; column <= row; column++) {
      if (meter.spend(dimension)) yield
      const product = productOf(centred, { dimension, row, column })
      products[row * count + column] = product
      products[column * count + row] = product
    }
  }
  return { count, products }
}

/** The vectors one after the other, less their mean. */
function* centre(
  vectors: readonly Float32Array[],
  dimension: number,
  meter: StepMeter,
): Sliced<Float64Array> {
  const mean = new Float64Array(dimension)
  for (const vector of vectors) {
    if (meter.spend(dimension)) yield
    for (const [i, one] of vector.entries()) mean[i] = (mean[i] ?? 0) + one / vectors.length
  }
  const centred = new Float64Array(vectors.length * dimension)
  for (const [row, vector] of vectors.entries()) {
    if (meter.spend(dimension)) yield
    for (const [i, one] of vector.entries()) centred[row * dimension + i] = one - (mean[i] ?? 0)
  }
  return centred
}

function productOf(
  centred: Float64Array,
  at: { readonly dimension: number; readonly row: number; readonly column: number },
): number {
  const { dimension, row, column } = at
  const [left, right] = [row * dimension, column * dimension]
  let sum = 0
  for (let i = 0; i < dimension; i++) sum += (centred[left + i] ?? 0) * (centred[right + i] ?? 0)
  return sum
}
