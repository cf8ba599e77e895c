// Intervals of time in UTC. Weeks begin on Mondays (ISO 8601).

import { unreachable } from '../../../../lib/assert.ts'
import type { CalendarUnit, DateBound, DateInterval } from '../../../query/aggregation-request.ts'

const DAY_MS = 86_400_000
/** The first day of 1970 was a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

const FIXED_MS: Partial<Record<CalendarUnit, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
}

export function dateBoundMs(bound: DateBound, nowMs: number): number {
  return bound.kind === 'absolute' ? bound.timeMs : nowMs + bound.offsetMs
}

/** The beginning of the interval that contains the moment. */
export function intervalStart(interval: DateInterval, timeMs: number): number {
  if (interval.kind === 'fixed') return floorTo(interval.ms, timeMs)
  return calendarStart(interval.unit, timeMs, 0)
}

/** The beginning of the interval after the one that begins at `startMs`. */
export function nextIntervalStart(interval: DateInterval, startMs: number): number {
  if (interval.kind === 'fixed') return startMs + interval.ms
  return calendarStart(interval.unit, startMs, 1)
}

function calendarStart(unit: CalendarUnit, timeMs: number, ahead: 0 | 1): number {
  switch (unit) {
    case 'minute':
    case 'hour':
    case 'day': {
      const ms = FIXED_MS[unit] ?? DAY_MS
      return floorTo(ms, timeMs) + ahead * ms
    }
    case 'week': {
      const weekMs = 7 * DAY_MS
      return floorTo(weekMs, timeMs - FIRST_MONDAY_MS) + FIRST_MONDAY_MS + ahead * weekMs
    }
    case 'month':
      return monthStart(timeMs, 1, ahead)
    case 'quarter':
      return monthStart(timeMs, 3, ahead)
    case 'year':
      return monthStart(timeMs, 12, ahead)
    default:
      return unreachable(unit)
  }
}

function monthStart(timeMs: number, months: number, ahead: number): number {
  const date = new Date(timeMs)
  const first = Math.floor(date.getUTCMonth() / months) * months
  const start = new Date(0)
  start.setUTCFullYear(date.getUTCFullYear(), first + ahead * months, 1)
  return start.getTime()
}

function floorTo(ms: number, timeMs: number): number {
  return Math.floor(timeMs / ms) * ms
}
