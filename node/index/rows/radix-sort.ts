import type { Sliced } from '../../../lib/sliced.ts'

const DIGIT_BITS = 11
const DIGITS = 2 ** DIGIT_BITS
/** Some tenths of a millisecond. */
const STEP_ITEMS = 16_384

/** The numbers of the values in ascending order; equal values keep their order. */
export function* orderOf(values: Uint32Array): Sliced<Uint32Array> {
  const count = values.length
  let order = new Uint32Array(count)
  let spare = new Uint32Array(count)
  for (let i = 0; i < count; i += 1) order[i] = i
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    const ends = yield* startsOf(values, shift)
    for (let from = 0; from < count; from += STEP_ITEMS) {
      const to = Math.min(count, from + STEP_ITEMS)
      for (let i = from; i < to; i += 1) {
        const item = order[i] ?? 0
        const digit = ((values[item] ?? 0) >>> shift) & (DIGITS - 1)
        const at = ends[digit] ?? 0
        ends[digit] = at + 1
        spare[at] = item
      }
      yield
    }
    ;[order, spare] = [spare, order]
  }
  return order
}

/** Where the items with each digit begin. */
function* startsOf(values: Uint32Array, shift: number): Sliced<Uint32Array> {
  const starts = new Uint32Array(DIGITS + 1)
  for (let from = 0; from < values.length; from += STEP_ITEMS) {
    const to = Math.min(values.length, from + STEP_ITEMS)
    for (let i = from; i < to; i += 1) {
      const digit = ((values[i] ?? 0) >>> shift) & (DIGITS - 1)
      starts[digit + 1] = (starts[digit + 1] ?? 0) + 1
    }
    yield
  }
  for (let digit = 0; digit < DIGITS; digit += 1) {
    starts[digit + 1] = (starts[digit + 1] ?? 0) + (starts[digit] ?? 0)
  }
  return starts
}

/** Where the first value that is not less than `wanted` lies, in the order given. */
export function firstAtLeast(values: ArrayLike<number>, wanted: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] ?? 0) < wanted) low = middle + 1
    else high = middle
  }
  return low
}
