// Products of one vector of small integers with many rows of 7 bits each, by the vector instructions of WebAssembly:
// sixteen numbers at a time, summed exactly.
//
//   kernel(query, rows, rowsEnd, stride, sums)
//     query    its numbers, i8 each, as many as a row has
//     rows     where the first row begins, up to rowsEnd: 0 to 127 each; at least one row
//     stride   the bytes of a row, a multiple of 32
//     sums     where Σab of each row goes, i32
//
// All are byte offsets in the memory. What lies behind the last number of a row or a query is 0.

import * as code from './simd-code.ts'
import { get, sequence, set, v128Load, type Code } from './simd-code.ts'
import { compileModule, localsOf } from './simd-module.ts'

export type CoarseKernel = (...offsets: readonly [number, number, number, number, number]) => void

/** Numbers of which a row has a multiple. */
export const COARSE_STEP = 32

const [QUERY, ROWS, ROWS_END, STRIDE, SUMS] = [0, 1, 2, 3, 4]
/** Where the row ends, and where the query is read. */
const [END, BESIDE] = [5, 6]
/** Vectors: two sums, so that an addition need not wait for the one before, and both together. */
const [FIRST, SECOND, BOTH] = [7, 8, 9]
const VECTOR_BYTES = 16

/** The module exports `products` and imports `host.memory`. ROWS walks over the numbers of all rows. */
export function compileCoarseKernel(): WebAssembly.Module {
  const body = code.loop(
    sequence(get(ROWS), get(STRIDE), code.i32Add, set(END)),
    sequence(get(QUERY), set(BESIDE)),
    sequence(code.v128Zero, set(FIRST), code.v128Zero, set(SECOND)),
    code.loop(
      addProducts(FIRST, 0),
      addProducts(SECOND, VECTOR_BYTES),
      code.advance(ROWS, COARSE_STEP),
      code.advance(BESIDE, COARSE_STEP),
      sequence(get(ROWS), get(END), code.i32LessU),
    ),
    sequence(get(SUMS), sumOfLanes(), code.i32Store),
    code.advance(SUMS, 4),
    sequence(get(ROWS), get(ROWS_END), code.i32LessU),
  )
  const products = sequence(localsOf({ i32: 2, v128: 3 }), body, code.END)
  return compileModule(5, { products })
}

function addProducts(sum: number, offset: number): Code {
  const factors = sequence(get(BESIDE), v128Load(offset), get(ROWS), v128Load(offset))
  return sequence(factors, get(sum), code.i32x4RelaxedDotI8x16I7x16AddS, set(sum))
}

function sumOfLanes(): Code {
  const both = sequence(get(FIRST), get(SECOND), code.i32x4Add, set(BOTH))
  const lanes = [0, 1, 2, 3].flatMap((lane) => [...get(BOTH), ...code.i32x4ExtractLane(lane)])
  return sequence(both, lanes, code.i32Add, code.i32Add, code.i32Add)
}
