// The numbers of one byte that the library usearch keeps: a sign, two bits of exponent, three of mantissa. (Its integers of
// eight bits would not do: it brings each vector of them to one length.)

/** The largest value of a coarse byte: it stands for 1. */
export const COARSE_BYTE_MAX = 7.5
/** The step below 2, and in each doubling beyond. */
const STEP = 0.125

/** A number from -1 to 1, as it is kept in units of COARSE_BYTE_MAX. */
export function coarseByteOf(value: number): number {
  const scaled = Math.max(-1, Math.min(1, value)) * COARSE_BYTE_MAX
  const size = Math.abs(scaled)
  const step = size < 2 ? STEP : size < 4 ? STEP * 2 : STEP * 4
  return Math.round(scaled / step) * step
}
