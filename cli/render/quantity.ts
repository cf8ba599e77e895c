// Formats numbers for people.

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Bytes in decimal units: 1 MB is 1,000,000 bytes. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000
    unit += 1
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1
  return `${value.toFixed(digits)} ${BYTE_UNITS[unit] ?? ''}`
}

/** A rounded number with commas between groups of three digits. */
export function formatCount(count: number): string {
  // Without Intl, because its first call takes 20 ms.
  return String(Math.round(count)).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** A duration in ms, s or min. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`
}

/** The count with its noun, which gets an `s` unless the count is 1. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}
