// RFC 3339 timestamps with up to nine digits of fraction, in whole milliseconds.

const PATTERN =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/
const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/
const MINUTE_MS = 60_000

/** Milliseconds since 1970, truncated; undefined if the text is not a valid timestamp. */
export function parseRfc3339Ms(text: string): number | undefined {
  const match = PATTERN.exec(text)
  if (match === null) return undefined
  const [, date = '', clock = '', fraction = '', zone = ''] = match
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
  if (text.toUpperCase() === 'Z') return 0
  const [hour = 0, minute = 0] = text.slice(1).split(':').map(Number)
  if (hour > 23 || minute > 59) return undefined
  return (hour * 60 + minute) * (text.startsWith('-') ? -MINUTE_MS : MINUTE_MS)
}
