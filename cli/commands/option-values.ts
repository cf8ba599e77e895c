// Values of options that several commands take.

import { usageError } from '../process/exit.ts'

/** `a, b` as a list; what is empty is left out. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part.length > 0)
}

export function parseFilter(text: string): unknown {
  const filter = parseJsonOption(text)
  if (filter !== undefined) return filter
  throw usageError(`--filter: not JSON; write it like '{"term":"MIT","field":"license"}'`)
}

/** Undefined for what is not JSON. */
export function parseJsonOption(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
