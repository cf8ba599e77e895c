// Distances between one vector of 32-bit floats and many rows, by the vector instructions of WebAssembly: eight
// numbers at a time, summed in 32 bits.
//
//   kernel(query, rows, rowsEnd, stride, sums)
//     query    its numbers, f32 each, as many as a row has
//     rows     where the first row begins, up to rowsEnd; at least one row
//     stride   the bytes of a row, a multiple of 32
//     sums     where the sums of each row go, f32 each: Σ(a−b)², or Σab and then Σb²
//
// All are byte offsets in the memory. What lies behind the last number of a row or a query is 0.

import * as code from './simd-code.ts'
import { get, sequence, set, v128Load, type Code } from './simd-code.ts'
import { compileModule, localsOf } from './simd-module.ts'

export type FloatKernel = (...offsets: readonly [number, number, number, number, number]) => void

/** Numbers of which a row has a multiple. */
export const FLOAT_STEP = 8

const [QUERY, ROWS, ROWS_END, STRIDE, SUMS] = [0, 1, 2, 3, 4]
/** Where the row ends, and where the query is read. */
const [END, BESIDE] = [5, 6]
/** Vectors: two of each sum, so that an addition need not wait for the one before, and what was read last. */
const [FIRST, SECOND, FIRST_SQUARES, SECOND_SQUARES, SPARE] = [7, 8, 9, 10, 11]
const VECTOR_BYTES = 16

/** The module's exports are `squares` and `products`; it imports `host.memory`. */
export function compileFloatKernels(): WebAssembly.Module {
  return compileModule(5, {
    squares: functionOf({
      each: (half) => addSquares(half === 0 ? FIRST : SECOND, half),
      store: sequence(get(SUMS), sumOf(FIRST, SECOND), code.f32Store(0)),
      sumBytes: 4,
    }),
    products: functionOf({
      each: (half) => {
        return half === 0
          ? addProducts({ products: FIRST, squares: FIRST_SQUARES }, half)
          : addProducts({ products: SECOND, squares: SECOND_SQUARES }, half)
      },
      store: sequence(
        sequence(get(SUMS), sumOf(FIRST, SECOND), code.f32Store(0)),
        sequence(get(SUMS), sumOf(FIRST_SQUARES, SECOND_SQUARES), code.f32Store(4)),
      ),
      sumBytes: 8,
    }),
  })
}

/** What is done with the halves of each eight numbers, and with the sums of a row. */
interface Summing {
  readonly each: (half: 0 | 1) => Code
  readonly store: Code
  readonly sumBytes: number
}

/** ROWS walks over the numbers of all rows, one behind the other. */
function functionOf({ each, store, sumBytes }: Summing): Code {
  const sums = [FIRST, SECOND, FIRST_SQUARES, SECOND_SQUARES]
  const body = code.loop(
    sequence(get(ROWS), get(STRIDE), code.i32Add, set(END)),
    sequence(get(QUERY), set(BESIDE)),
    sequence(...sums.map((sum) => sequence(code.v128Zero, set(sum)))),
    code.loop(
      each(0),
      each(1),
      code.advance(ROWS, VECTOR_BYTES * 2),
      code.advance(BESIDE, VECTOR_BYTES * 2),
      sequence(get(ROWS), get(END), code.i32LessU),
    ),
    store,
    code.advance(SUMS, sumBytes),
    sequence(get(ROWS), get(ROWS_END), code.i32LessU),
  )
  return sequence(localsOf({ i32: 2, v128: 5 }), body, code.END)
}

function addSquares(sum: number, half: number): Code {
  return sequence(
    sequence(ofRow(half), ofQuery(half), code.f32x4Sub, set(SPARE)),
    sequence(get(sum), get(SPARE), get(SPARE), code.f32x4Mul, code.f32x4Add, set(sum)),
  )
}

function addProducts(
  { products, squares }: { readonly products: number; readonly squares: number },
  half: number,
): Code {
  return sequence(
    sequence(ofRow(half), set(SPARE)),
    sequence(get(products), get(SPARE), ofQuery(half), code.f32x4Mul, code.f32x4Add, set(products)),
    sequence(get(squares), get(SPARE), get(SPARE), code.f32x4Mul, code.f32x4Add, set(squares)),
  )
}

const ofRow = (half: number): Code => sequence(get(ROWS), v128Load(half * VECTOR_BYTES))
const ofQuery = (half: number): Code => sequence(get(BESIDE), v128Load(half * VECTOR_BYTES))

function sumOf(first: number, second: number): Code {
  const both = sequence(get(first), get(second), code.f32x4Add, set(SPARE))
  const lanes = [0, 1, 2, 3].flatMap((lane) => [...get(SPARE), ...code.f32x4ExtractLane(lane)])
  return sequence(both, lanes, code.f32Add, code.f32Add, code.f32Add)
}
