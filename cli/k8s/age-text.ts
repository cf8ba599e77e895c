const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** How long ago a moment was, in one or two units: `40 s`, `12 min`, `3 h 5 min`, `2 d 4 h`. Empty if it is unknown. */
export function ageText(iso: string | undefined, nowMs: number): string {
  const at = Date.parse(iso ?? '')
  if (Number.isNaN(at)) return ''
  const ms = Math.max(0, nowMs - at)
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`
  return twoUnits(ms, ms < DAY_MS ? HOURS : DAYS)
}

interface Units {
  readonly first: number
  readonly word: string
  readonly second: number
  readonly other: string
}

const HOURS: Units = { first: HOUR_MS, word: 'h', second: MINUTE_MS, other: 'min' }
const DAYS: Units = { first: DAY_MS, word: 'd', second: HOUR_MS, other: 'h' }

function twoUnits(ms: number, { first, word, second, other }: Units): string {
  const rest = Math.floor((ms % first) / second)
  const whole = `${Math.floor(ms / first)} ${word}`
  return rest === 0 ? whole : `${whole} ${rest} ${other}`
}
