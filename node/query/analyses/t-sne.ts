// t-SNE of a few points: places in the plane in which near points stay near (van der Maaten and Hinton, 2008).
// Exact, so its time grows with the square of the count; it begins with the principal components, so equal
// points give equal pictures.

import { seededRandom } from '../../../lib/random.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { GramMatrix } from './gram-matrix.ts'
import type { PlanePoints } from './principal-components.ts'

const SEED = 1
const ITERATIONS = 500
/** Iterations in which near points are drawn together more strongly, so that groups form. */
const EARLY_ITERATIONS = 100
const EXAGGERATION = 12
const EARLY_MOMENTUM = 0.5
const MOMENTUM = 0.8
const LEARNING_RATE_MIN = 50
const PERPLEXITY_MAX = 30
/** The spread of the first places. */
const START_SPREAD = 1e-4
/** Without a little chance, points on a line would never leave the line. */
const JITTER = 1e-6
/** Halvings of the interval of a point's precision. */
const HALVINGS = 50
const PROBABILITY_MIN = 1e-12
const PAIRS_PER_STEP = 40_000

/** `start` are the principal components of the same points. */
export function* tSne(gram: GramMatrix, start: PlanePoints): Sliced<PlanePoints> {
  const { count } = gram
  const places = startPlaces(start)
  if (count < 2) return places
  const meter = new StepMeter(PAIRS_PER_STEP)
  const near = yield* nearness(gram, meter)
  const affinity = new Float64Array(count * count)
  const gradient = new Float64Array(2 * count)
  const velocity = new Float64Array(2 * count)
  const rate = Math.max(count / EXAGGERATION / 4, LEARNING_RATE_MIN)
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const isEarly = iteration < EARLY_ITERATIONS
    const total = yield* affinities(places, affinity, meter)
    gradient.fill(0)
    const pull = isEarly ? EXAGGERATION : 1
    for (let row = 0; row < count; row++) {
      if (meter.spend(row)) yield
      addGradient({ places, affinity, gradient, near }, row, { pull, total })
    }
    const momentum = isEarly ? EARLY_MOMENTUM : MOMENTUM
    for (let i = 0; i < places.length; i++) {
      const speed = momentum * (velocity[i] ?? 0) - rate * (gradient[i] ?? 0)
      velocity[i] = speed
      places[i] = (places[i] ?? 0) + speed
    }
    centre(places)
  }
  return places
}

function startPlaces(start: PlanePoints): Float64Array {
  const random = seededRandom(SEED)
  const spread = Math.sqrt(start.reduce((sum, one) => sum + one * one, 0) / (start.length || 1))
  const scale = spread > 0 ? START_SPREAD / spread : 0
  return start.map((one) => one * scale + (random() - 0.5) * JITTER)
}

/** How probable it is that two points are neighbours; the sum over all pairs is 1. */
function* nearness({ count, products }: GramMatrix, meter: StepMeter): Sliced<Float64Array> {
  const perplexity = Math.max(1, Math.min(PERPLEXITY_MAX, (count - 1) / 3))
  const from = new Float64Array(count * count)
  const distances = new Float64Array(count)
  for (let row = 0; row < count; row++) {
    for (let column = 0; column < count; column++) {
      const squares =
        (products[row * count + row] ?? 0) +
        (products[column * count + column] ?? 0) -
        2 * (products[row * count + column] ?? 0)
      distances[column] = Math.max(0, squares)
    }
    const weights = yield* rowWeights({ distances, row, perplexity }, meter)
    from.set(weights, row * count)
  }
  const near = new Float64Array(count * count)
  for (let row = 0; row < count; row++) {
    if (meter.spend(count)) yield
    for (let column = 0; column < count; column++) {
      const both = (from[row * count + column] ?? 0) + (from[column * count + row] ?? 0)
      near[row * count + column] = Math.max(both / (2 * count), PROBABILITY_MIN)
    }
  }
  return near
}

/** The neighbours of one point, with the precision at which they are as many as the perplexity says. */
function* rowWeights(
  point: { readonly distances: Float64Array; readonly row: number; readonly perplexity: number },
  meter: StepMeter,
): Sliced<Float64Array> {
  const { distances, row, perplexity } = point
  const mean = distances.reduce((sum, one) => sum + one, 0) / distances.length || 1
  const wanted = Math.log(perplexity)
  let [low, high, precision] = [0, Infinity, 1 / mean]
  let weights = new Float64Array(distances.length)
  for (let left = HALVINGS; left > 0; left--) {
    if (meter.spend(distances.length)) yield
    const found = weighted(distances, row, precision)
    weights = found.weights
    if (Math.abs(found.entropy - wanted) < 1e-5) break
    if (found.entropy > wanted) low = precision
    else high = precision
    precision = high === Infinity ? precision * 2 : (low + high) / 2
  }
  return weights
}

function weighted(
  distances: Float64Array,
  row: number,
  precision: number,
): { readonly weights: Float64Array<ArrayBuffer>; readonly entropy: number } {
  const weights = new Float64Array(distances.length)
  // Measured from the nearest one: the weight of a far point must not vanish beside nothing.
  let nearest = Infinity
  for (const [i, one] of distances.entries()) if (i !== row && one < nearest) nearest = one
  let sum = 0
  let moment = 0
  for (const [i, one] of distances.entries()) {
    if (i === row) continue
    const beyond = one - nearest
    const weight = Math.exp(-beyond * precision)
    weights[i] = weight
    sum += weight
    moment += weight * beyond
  }
  for (let i = 0; i < weights.length; i++) weights[i] = (weights[i] ?? 0) / sum
  return { weights, entropy: Math.log(sum) + (precision * moment) / sum }
}

/** Fills the affinities of all pairs in the plane, and answers their sum. */
function* affinities(
  places: Float64Array,
  affinity: Float64Array,
  meter: StepMeter,
): Sliced<number> {
  const count = places.length / 2
  let total = 0
  for (let row = 0; row < count; row++) {
    if (meter.spend(row)) yield
    const [x, y] = [places[2 * row] ?? 0, places[2 * row + 1] ?? 0]
    for (let column = 0; column < row; column++) {
      const dx = x - (places[2 * column] ?? 0)
      const dy = y - (places[2 * column + 1] ?? 0)
      const one = 1 / (1 + dx * dx + dy * dy)
      affinity[row * count + column] = one
      affinity[column * count + row] = one
      total += 2 * one
    }
  }
  return total
}

interface Layout {
  readonly places: Float64Array
  readonly affinity: Float64Array
  readonly gradient: Float64Array
  readonly near: Float64Array
}

/** Adds the forces between a point and those before it, to both. */
function addGradient(
  { places, affinity, gradient, near }: Layout,
  row: number,
  { pull, total }: { readonly pull: number; readonly total: number },
): void {
  const count = places.length / 2
  const [x, y] = [places[2 * row] ?? 0, places[2 * row + 1] ?? 0]
  let [sumX, sumY] = [0, 0]
  for (let column = 0; column < row; column++) {
    const one = affinity[row * count + column] ?? 0
    const probability = Math.max(one / total, PROBABILITY_MIN)
    const force = 4 * (pull * (near[row * count + column] ?? 0) - probability) * one
    const forceX = force * (x - (places[2 * column] ?? 0))
    const forceY = force * (y - (places[2 * column + 1] ?? 0))
    sumX += forceX
    sumY += forceY
    gradient[2 * column] = (gradient[2 * column] ?? 0) - forceX
    gradient[2 * column + 1] = (gradient[2 * column + 1] ?? 0) - forceY
  }
  gradient[2 * row] = (gradient[2 * row] ?? 0) + sumX
  gradient[2 * row + 1] = (gradient[2 * row + 1] ?? 0) + sumY
}

function centre(places: Float64Array): void {
  const count = places.length / 2
  let [sumX, sumY] = [0, 0]
  for (let i = 0; i < count; i++) {
    sumX += places[2 * i] ?? 0
    sumY += places[2 * i + 1] ?? 0
  }
  for (let i = 0; i < count; i++) {
    places[2 * i] = (places[2 * i] ?? 0) - sumX / count
    places[2 * i + 1] = (places[2 * i + 1] ?? 0) - sumY / count
  }
}
