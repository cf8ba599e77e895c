import { ServiceError } from '../../lib/errors.ts'
import type { GraphTensor } from '../runtime/graph-session.ts'

/** A new tensor of the given rows (first dimension), in the given order. A row may occur twice. */
export function gatherRows(tensor: GraphTensor, rows: readonly number[]): GraphTensor {
  const dims = [rows.length, ...tensor.dims.slice(1)]
  const size = tensor.dims.slice(1).reduce((product, dim) => product * dim, 1)
  if (tensor.type === 'float32') {
    const data = new Float32Array(rows.length * size)
    copyRows(rows, size, (row, at) => data.set(tensor.data.subarray(row, row + size), at))
    return { type: 'float32', dims, data }
  }
  if (tensor.type === 'float16') {
    const data = new Uint16Array(rows.length * size)
    copyRows(rows, size, (row, at) => data.set(tensor.data.subarray(row, row + size), at))
    return { type: 'float16', dims, data }
  }
  throw new ServiceError('INFERENCE_FAILED', `the graph answered ${tensor.type}, not floats`)
}

function copyRows(
  rows: readonly number[],
  size: number,
  copy: (from: number, to: number) => void,
): void {
  for (const [index, row] of rows.entries()) copy(row * size, index * size)
}
