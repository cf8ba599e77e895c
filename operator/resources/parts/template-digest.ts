// Whether two pod templates mean the same. An operator of a newer version may build a template differently from the same
// spec; with the same digest the one that is there stays, and nodes are not restarted for it.

import { createHash } from 'node:crypto'
import { sorted } from './built.ts'

/** The same for equal values, whatever the order of their fields. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(stableJson(value)).digest('hex')
}

function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? sorted(Object.fromEntries(Object.entries(part)))
      : part,
  )
}
