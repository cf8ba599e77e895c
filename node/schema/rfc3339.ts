// RFC 3339 timestamps with up to nine digits of fraction, in whole milliseconds.
//
// Programs print times in a few more ways, which mean the same everywhere in the product: without a zone, which is UTC
// (`isoformat()` and `str()` of Python), with a zone such as +0200 or +02, and without seconds.

const PATTERN =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d{2}:\d{2})[.,](\d{1,9}))? ?([Zz]|UTC|[+-]\d{2}(?::?\d{2})?)?$/
const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Bounds of a range; see query-tree.ts. */
interface Bounds<Value> {
  readonly min: Value | undefined
  readonly max: Value | undefined
  readonly inclusiveMin: boolean
  readonly inclusiveMax: boolean
}

/** Milliseconds since 1970, truncated; undefined if the text is not a valid timestamp. */
export function parseRfc3339Ms(text: string): number | undefined {
  const match = PATTERN.exec(text)
  if (match === null) return undefined
  const [, date = '', clock = '', fraction = '', zone = 'Z'] = match
  const dayMs = dayMsOf(date)
  const clockMs = clockMsOf(clock)
  const zoneMs = zoneMsOf(zone)
  if (dayMs === undefined || clockMs === undefined || zoneMs === undefined) return undefined
  return dayMs + clockMs + Number(fraction.slice(0, 3).padEnd(3, '0')) - zoneMs
}

/** Parses as `parseRfc3339Ms` does. A date alone means its midnight in UTC. */
export function parseDateMs(text: string): number | undefined {
  return parseRfc3339Ms(DAY_ONLY.test(text) ? `${text}T00:00:00Z` : text)
}

/**
 * Bounds in milliseconds. A day means the whole day: a range that includes it reaches to its end, and one that begins
 * behind it begins with the next day, as in Lucene's date math. Each text is one that `parseDateMs` reads; its callers
 * have refused others.
 */
export function dateBoundsMs(texts: Bounds<string>): Bounds<number> {
  const { min, max, inclusiveMin, inclusiveMax } = texts
  const isAfterDay = min !== undefined && !inclusiveMin && isDay(min)
  const isToEndOfDay = max !== undefined && inclusiveMax && isDay(max)
  return {
    min: min === undefined ? undefined : boundMs(min, isAfterDay),
    max: max === undefined ? undefined : boundMs(max, isToEndOfDay),
    inclusiveMin: inclusiveMin || isAfterDay,
    inclusiveMax: inclusiveMax && !isToEndOfDay,
  }
}

function boundMs(text: string, isEnd: boolean): number | undefined {
  const ms = parseDateMs(text.trim())
  return ms === undefined || !isEnd ? ms : ms + DAY_MS
}

export function isDay(text: string): boolean {
  return DAY_ONLY.test(text.trim())
}

function dayMsOf(text: string): number | undefined {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number)
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return exists ? date.getTime() : undefined
}

function clockMsOf(text: string): number | undefined {
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number)
  // A leap second has the number 60. Unix time counts it as the first second of the next minute.
  if (hour > 23 || minute > 59 || second > 60) return undefined
  return (hour * 60 + minute) * MINUTE_MS + second * 1000
}

function zoneMsOf(text: string): number | undefined {
  if (text === 'UTC' || text.toUpperCase() === 'Z') return 0
  const [hour, minute] = [text.slice(1, 3), text.slice(3).replace(':', '')].map(Number)
  if (hour === undefined || minute === undefined) return undefined
  if (hour > 23 || minute > 59) return undefined
  return (hour * 60 + minute) * (text.startsWith('-') ? -MINUTE_MS : MINUTE_MS)
}
