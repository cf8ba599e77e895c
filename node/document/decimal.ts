// Decimals with all their digits, as JSON and clients write them.

/** `digits` × 10^`exponent`, with the point behind the first digit. Zero has no digits. */
interface Decimal {
  readonly isNegative: boolean
  readonly exponent: number
  /** Without zeros at either end. */
  readonly digits: string
}

const PATTERN = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/
/** More digits of one number do not count. */
const DIGITS_MAX = 1000
/** Above the size of every exponent of a double; those beyond it are cut. */
const EXPONENT_MAX = 99_999
const EXPONENT_WIDTH = 6

/** Negative, zero or positive. Both texts are decimals, perhaps with an exponent. */
export function compareDecimals(left: string, right: string): number {
  const [low, high] = [orderedTextOf(left), orderedTextOf(right)]
  return low === high ? 0 : low < high ? -1 : 1
}

/** As `compareDecimals`, of numbers that are doubles, or decimals as texts. */
export function compareExactly(left: number | string, right: number | string): number {
  const [low, high] = [Number(left), Number(right)]
  // Rounding to doubles keeps the order, so the digits decide only between equal doubles.
  if (low !== high) return low < high ? -1 : 1
  const areDoubles = typeof left === 'number' && typeof right === 'number'
  return areDoubles ? 0 : compareDecimals(String(left), String(right))
}

/** Whether no double means this number. A double means the decimal that it prints as. */
export function isBeyondDoubles(text: string): boolean {
  return compareDecimals(text, String(Number(text))) !== 0
}

/**
 * A text of ASCII characters for a decimal. Texts have the order of the numbers, code unit by code unit, and are
 * equal for equal numbers: `1.50` and `15e-1`.
 */
export function orderedTextOf(text: string): string {
  const { isNegative, exponent, digits } = decimalOf(text)
  if (digits === '') return '1'
  const raised = Math.max(-EXPONENT_MAX, Math.min(EXPONENT_MAX, exponent)) + EXPONENT_MAX
  const size = String(raised).padStart(EXPONENT_WIDTH, '0') + digits
  // Behind the complement, a longer negative number comes first: it is the smaller one.
  return isNegative ? `0${complementOf(size)}:` : `2${size}`
}

function complementOf(digits: string): string {
  return digits.replaceAll(/\d/g, (digit) => String(9 - Number(digit)))
}

/** The greatest whole number that is not above `value` divided by `divisor`. Both are finite; `divisor` is above 0. */
export function floorOfQuotient(value: number, divisor: number): bigint {
  const [over, under] = [scaledOf(value), scaledOf(divisor)]
  const least = Math.min(over.exponent, under.exponent)
  const dividend = over.integer * 10n ** BigInt(over.exponent - least)
  const by = under.integer * 10n ** BigInt(under.exponent - least)
  const quotient = dividend / by
  return dividend < 0n && quotient * by !== dividend ? quotient - 1n : quotient
}

/** The exact decimal of a whole number of times of the decimal that a double prints as. */
export function timesDecimal(factor: number, count: number): string {
  const { integer, exponent } = scaledOf(factor)
  return decimalOfOrdered(orderedTextOf(`${integer * BigInt(count)}e${exponent}`))
}

/** `integer` × 10^`exponent`: the decimal that the double prints as. */
function scaledOf(value: number): { readonly integer: bigint; readonly exponent: number } {
  const [mantissa = '0', power = '0'] = String(value).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { integer: BigInt(whole + fraction), exponent: Number(power) - fraction.length }
}

/** The opposite of `orderedTextOf`, as JSON writes numbers. */
export function decimalOfOrdered(ordered: string): string {
  if (ordered.startsWith('1')) return '0'
  const isNegative = ordered.startsWith('0')
  const size = isNegative ? complementOf(ordered.slice(1, -1)) : ordered.slice(1)
  const exponent = Number(size.slice(0, EXPONENT_WIDTH)) - EXPONENT_MAX
  return (isNegative ? '-' : '') + plainText(size.slice(EXPONENT_WIDTH), exponent)
}

/** Numbers of a usual length have no exponent. */
function plainText(digits: string, exponent: number): string {
  if (exponent >= 0 && exponent < 40) {
    const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
    const fraction = digits.slice(exponent + 1)
    return fraction === '' ? whole : `${whole}.${fraction}`
  }
  if (exponent < 0 && exponent > -8) return `0.${'0'.repeat(-exponent - 1)}${digits}`
  const [first = '', rest] = [digits[0], digits.slice(1)]
  return `${first}${rest === '' ? '' : `.${rest}`}e${exponent < 0 ? '' : '+'}${exponent}`
}

function decimalOf(text: string): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] = PATTERN.exec(text) ?? []
  const all = whole + fraction
  const first = all.search(/[1-9]/)
  if (first < 0) return { isNegative: false, exponent: 0, digits: '' }
  return {
    isNegative: sign === '-',
    exponent: Number(power) + whole.length - 1 - first,
    digits: all.slice(first, first + DIGITS_MAX).replace(/0+$/, ''),
  }
}
