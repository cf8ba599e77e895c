/** By code units, which for keys (one code unit a byte) is the order of the bytes. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
