import { ServiceError } from '../../lib/errors.ts'

const MS_BY_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/
const PART = /(?<amount>\d+(?:\.\d+)?)(?<unit>ms|s|m|h)/g

/**
 * Milliseconds from `"5m"`, `"1h30m"` or a number of seconds. A negative value is infinite: the model
 * stays loaded. Undefined asks for the server's default.
 */
export function parseKeepAlive(value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = typeof value === 'number' || /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : NaN
  if (!Number.isNaN(seconds)) return seconds < 0 ? Number.POSITIVE_INFINITY : seconds * 1_000
  const text = String(value)
  if (text.startsWith('-') && DURATION.test(text.slice(1))) return Number.POSITIVE_INFINITY
  if (!DURATION.test(text)) {
    const message = 'keep_alive must be a duration such as "5m", or a number of seconds'
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  return text
    .matchAll(PART)
    .map(({ groups }) => Number(groups?.['amount']) * (MS_BY_UNIT[groups?.['unit'] ?? ''] ?? 0))
    .reduce((sum, ms) => sum + ms, 0)
}
