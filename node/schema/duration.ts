// Durations as people write them, such as `30s`, `1h30m`, `7d` or `1.5h`.

import { ServiceError } from '../../lib/errors.ts'

const MS_BY_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g
const TEXT_LENGTH_MAX = 64
const DAYS_MAX = 36_525

/** `field` names the place of the text in the request, for messages. */
export function parseDurationMs(text: string, field: string): number {
  if (text.length > TEXT_LENGTH_MAX || !WHOLE.test(text)) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${field}: not a duration: "${text.slice(0, TEXT_LENGTH_MAX)}"; ` +
        'write numbers with the units ms, s, m, h or d, such as 30s, 1h30m or 7d',
    )
  }
  let sumMs = 0
  for (const [, amount, unit = ''] of text.matchAll(PART)) {
    sumMs += Number(amount) * (MS_BY_UNIT[unit] ?? 0)
  }
  const durationMs = Math.round(sumMs)
  if (durationMs >= 1 && durationMs <= DAYS_MAX * 86_400_000) return durationMs
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `${field}: must be at least 1ms and at most ${DAYS_MAX}d (100 years), not "${text}"`,
  )
}
