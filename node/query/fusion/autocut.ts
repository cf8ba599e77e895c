// Where a list of hits ends by itself: before a jump of its values. A window is filled whether or not there is
// anything worth finding, and what fills it is far from the good hits and close together.
//
//   value │ ×                        step of hit j:  value of j − value of j + 1
//         │                          spread behind:  mean of (value − last value) over the hits behind j
//         │    × × × × × × ×         jump:           step > 3 × spread, and 3 hits or more are behind
//         └─────────────────► hits
//
// Values of documents that have nothing to do with a query fall off like an exponential. If all hits were such
// documents, the first step would be a jump in one of twenty lists (e⁻³), and the j-th in e⁻³ʲ of them.

/** A step of three spreads or more is a jump. */
const SPREADS = 3
/** The spread of fewer hits says nothing about them. */
const BEHIND_MIN = 3

/** How many hits stand before the `jumps`-th jump; all of them if there are fewer jumps. `values` only rise, or only fall. */
export function countBeforeJump(values: readonly number[], jumps: number): number {
  const last = values.at(-1) ?? 0
  // By hit: how far the hits behind it are from the last one, together.
  const fars = new Float64Array(values.length)
  for (let at = values.length - 2; at >= 0; at--) {
    fars[at] = (fars[at + 1] ?? 0) + Math.abs((values[at + 1] ?? 0) - last)
  }
  let found = 0
  for (let at = 0; at + BEHIND_MIN < values.length; at++) {
    const step = Math.abs((values[at + 1] ?? 0) - (values[at] ?? 0))
    const behind = values.length - 1 - at
    if (step * behind > SPREADS * (fars[at] ?? 0)) found += 1
    if (found === jumps) return at + 1
  }
  return values.length
}
