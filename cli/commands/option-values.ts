// Parsers for option values that several commands have.

import { usageError } from '../process/exit.ts'

/** The parts of `a, b` without empty ones. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part.length > 0)
}

/** The filter of `--filter`. Throws a usage error unless it is JSON; the service checks the rest. */
export function parseFilter(text: string): unknown {
  const filter = parseJsonOption(text)
  if (filter !== undefined) return filter
  throw usageError(`--filter: not JSON; write it like '{"term":"MIT","field":"license"}'`)
}

/** The value of a JSON text; undefined for any other text. */
export function parseJsonOption(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
