/** Longer waits are for people: the back-off of the caller asks again before that. */
const RETRY_AFTER_MS_MAX = 10 * 60_000

const SECONDS = /^\d+(\.\d+)?$/

/** The wait that a `Retry-After` asks for: seconds or a date (RFC 9110, 10.2.3). Undefined: none, or not readable. */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  const isDate = /^[A-Z][a-z]{2},? /.test(text)
  const ms = isDate ? Date.parse(text) - nowMs : SECONDS.test(text) ? Number(text) * 1000 : NaN
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX)
}
