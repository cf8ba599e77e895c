// Distances between one vector of small integers and many rows, by the vector instructions of WebAssembly:
// sixteen numbers at a time. Every processor that Node runs on has them.
//
//   kernel(query, rows, rowsEnd, codes, stride, distances)
//     query       its numbers, i16 each, as many as a row has bytes
//     rows        the numbers of rows, u32 each, up to rowsEnd; at least one
//     codes       where row 0 begins: i8 each, `stride` for a row, a multiple of 16
//     distances   where their distances go, f32 each
//
// All are byte offsets in the memory. What lies behind the last number of a row or a query is 0.

import * as code from './simd-code.ts'
import { get, sequence, set, v128Load, type Code } from './simd-code.ts'
import { compileModule, localsOf } from './simd-module.ts'

/** By what small integers are compared: Σ(a−b)², or Σab. */
export type IntegerMetric = 'l2_squared' | 'inner_product'

export type SimdKernel = (
  ...offsets: readonly [number, number, number, number, number, number]
) => void

const [QUERY, ROWS, ROWS_END, CODES, STRIDE, DISTANCES] = [0, 1, 2, 3, 4, 5]
/** Where the row is read, where it ends, and where the query is read. */
const [AT, END, BESIDE] = [6, 7, 8]
/** Vectors: two sums, so that an addition need not wait for the one before, and the last difference. */
const [LOW_SUM, HIGH_SUM, SPARE] = [9, 10, 11]
const STEP_NUMBERS = 16
/** How eight numbers of a row and of the query add up to four: both are on the stack, as i16. */
const PAIRS: Readonly<Record<IntegerMetric, Code>> = {
  inner_product: code.i32x4DotI16x8S,
  l2_squared: sequence(code.i16x8Sub, set(SPARE), get(SPARE), get(SPARE), code.i32x4DotI16x8S),
}

/** The module's exports are the kernels, by metric; it imports `host.memory`. */
export function compileKernels(): WebAssembly.Module {
  return compileModule(6, {
    l2_squared: functionOf(PAIRS.l2_squared),
    inner_product: functionOf(PAIRS.inner_product),
  })
}

function functionOf(pair: Code): Code {
  const body = code.loop(
    sequence(get(CODES), get(ROWS), code.i32Load, get(STRIDE), code.i32Mul, code.i32Add, set(AT)),
    sequence(get(AT), get(STRIDE), code.i32Add, set(END)),
    sequence(get(QUERY), set(BESIDE)),
    sequence(code.v128Zero, set(LOW_SUM), code.v128Zero, set(HIGH_SUM)),
    code.loop(
      addPair(LOW_SUM, pair, { extend: code.i16x8ExtendLowI8x16S, offset: 0 }),
      addPair(HIGH_SUM, pair, { extend: code.i16x8ExtendHighI8x16S, offset: STEP_NUMBERS }),
      code.advance(AT, STEP_NUMBERS),
      code.advance(BESIDE, STEP_NUMBERS * 2),
      sequence(get(AT), get(END), code.i32LessU),
    ),
    sequence(get(DISTANCES), sumOfLanes(), code.f32ConvertI32S, code.f32Store(0)),
    code.advance(DISTANCES, 4),
    code.advance(ROWS, 4),
    sequence(get(ROWS), get(ROWS_END), code.i32LessU),
  )
  return sequence(localsOf({ i32: 3, v128: 3 }), body, code.END)
}

function addPair(
  sum: number,
  pair: Code,
  { extend, offset }: { readonly extend: Code; readonly offset: number },
): Code {
  const ofRow = sequence(get(AT), v128Load(0), extend)
  const ofQuery = sequence(get(BESIDE), v128Load(offset))
  return sequence(get(sum), ofRow, ofQuery, pair, code.i32x4Add, set(sum))
}

function sumOfLanes(): Code {
  const both = sequence(get(LOW_SUM), get(HIGH_SUM), code.i32x4Add, set(SPARE))
  const lanes = [0, 1, 2, 3].flatMap((lane) => [...get(SPARE), ...code.i32x4ExtractLane(lane)])
  return sequence(both, lanes, code.i32Add, code.i32Add, code.i32Add)
}
