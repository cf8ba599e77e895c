const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const
const UNIT_BYTES = 1024

/** A number of bytes as Kubernetes writes quantities, exact, in the largest unit that divides it. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value > 0 && value % UNIT_BYTES === 0 && unit < UNITS.length - 1) {
    value /= UNIT_BYTES
    unit += 1
  }
  return `${value}${UNITS[unit] ?? ''}`
}
