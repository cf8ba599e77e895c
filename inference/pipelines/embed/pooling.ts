import { unreachable } from '../../../lib/assert.ts'
import type { Pooling } from '../../models/model-spec.ts'

/**
 * The hidden states of one row: `states` has the shape [width, size], and the row's own `count`
 * tokens begin at `first`.
 */
export interface RowStates {
  readonly states: Float32Array
  readonly size: number
  readonly first: number
  readonly count: number
}

/** Makes one vector from the states of a row's own tokens; padding never counts. */
export function pool(row: RowStates, pooling: Pooling): Float32Array {
  switch (pooling) {
    case 'cls':
      return stateAt(row, row.first)
    case 'last-token':
      return stateAt(row, row.first + row.count - 1)
    case 'mean':
      return meanOf(row)
    case 'max':
      return maxOf(row)
    default:
      return unreachable(pooling)
  }
}

/**
 * The vector scaled to length 1; zeros stay zeros. Undefined if it holds a number that is not
 * finite.
 */
export function normalized(vector: Float32Array): Float32Array | undefined {
  let sum = 0
  for (const value of vector) sum += value * value
  if (!Number.isFinite(sum)) return undefined
  const scale = sum === 0 ? 0 : 1 / Math.sqrt(sum)
  return vector.map((value) => value * scale)
}

function stateAt({ states, size }: RowStates, token: number): Float32Array {
  return states.slice(token * size, (token + 1) * size)
}

function meanOf({ states, size, first, count }: RowStates): Float32Array {
  // Sums of many tokens lose digits in 32 bits.
  const sums = new Float64Array(size)
  for (let token = first; token < first + count; token++) {
    const start = token * size
    for (let i = 0; i < size; i++) sums[i] = (sums[i] ?? 0) + (states[start + i] ?? 0)
  }
  return Float32Array.from(sums, (sum) => sum / count)
}

function maxOf({ states, size, first, count }: RowStates): Float32Array {
  const most = new Float32Array(size).fill(-Infinity)
  for (let token = first; token < first + count; token++) {
    const start = token * size
    for (let i = 0; i < size; i++) most[i] = Math.max(most[i] ?? 0, states[start + i] ?? 0)
  }
  return most
}
