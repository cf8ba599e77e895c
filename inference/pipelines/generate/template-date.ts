/**
 * Formats a time by the directives of strftime that chat templates use, in UTC and English. Other
 * directives stay as they are.
 */
export function formatDate(nowMs: number, format: string): string {
  const date = new Date(nowMs)
  return format.replaceAll(/%([a-zA-Z%])/g, (whole, directive: string) => {
    return Object.hasOwn(DIRECTIVES, directive) ? (DIRECTIVES[directive]?.(date) ?? whole) : whole
  })
}

const DIRECTIVES: Readonly<Record<string, (date: Date) => string>> = {
  '%': () => '%',
  A: (date) => nameOf(date, { weekday: 'long' }),
  B: (date) => nameOf(date, { month: 'long' }),
  H: (date) => twoDigits(date.getUTCHours()),
  M: (date) => twoDigits(date.getUTCMinutes()),
  S: (date) => twoDigits(date.getUTCSeconds()),
  Y: (date) => String(date.getUTCFullYear()),
  a: (date) => nameOf(date, { weekday: 'short' }),
  b: (date) => nameOf(date, { month: 'short' }),
  d: (date) => twoDigits(date.getUTCDate()),
  m: (date) => twoDigits(date.getUTCMonth() + 1),
  y: (date) => twoDigits(date.getUTCFullYear() % 100),
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

function nameOf(date: Date, part: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-US', { ...part, timeZone: 'UTC' }).format(date)
}
