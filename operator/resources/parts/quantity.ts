// Amounts as Kubernetes writes them: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
//
// They are read exactly: the API server writes 1.1Gi back as 1181116006400m, and both must be the same number of bytes.

const QUANTITY =
  /^\+?(?<whole>\d*)(?:\.(?<fraction>\d*))?(?<unit>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']

/** What the API server writes is shorter. */
const LENGTH_MAX = 64
/** Beyond these powers of ten every amount is more than the largest one, or less than a byte. */
const EXPONENT_MAX = 128
/** Kubernetes' own largest amount. */
const BYTES_MAX = 2n ** 63n - 1n

/**
 * The whole number of bytes that a quantity means, rounded up as Kubernetes does. 0 for what is less than nothing, and for
 * any other text, which the API server lets nobody write.
 */
export function quantityBytes(quantity: string): number {
  const groups = quantity.length > LENGTH_MAX ? undefined : QUANTITY.exec(quantity)?.groups
  const { whole = '', fraction = '', unit = '' } = groups ?? {}
  if (whole === '' && fraction === '') return 0
  const { factor, exponent } = scaleOf(unit)
  const bytes = scaled(BigInt(whole + fraction) * factor, exponent - fraction.length)
  return Number(bytes < BYTES_MAX ? bytes : BYTES_MAX)
}

/** What the digits are multiplied by: a power of 1024, or a power of ten. */
function scaleOf(unit: string): { readonly factor: bigint; readonly exponent: number } {
  const binary = BINARY.indexOf(unit)
  if (binary !== -1) return { factor: 1024n ** BigInt(binary + 1), exponent: 0 }
  const decimal = DECIMAL.indexOf(unit)
  const exponent = decimal === -1 ? Number(unit.slice(1)) : 3 * (decimal - DECIMAL.indexOf(''))
  return { factor: 1n, exponent: Math.max(-EXPONENT_MAX, Math.min(EXPONENT_MAX, exponent)) }
}

function scaled(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent)
  const divisor = 10n ** BigInt(-exponent)
  return (value + divisor - 1n) / divisor
}
