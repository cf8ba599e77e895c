// Checks of plain data that another node sent: a kind of index says by these what it can read.

/** Whether a value has a shape. Members that the shape does not name are ignored. */
export type Check = (this: void, value: unknown) => boolean

export const isText: Check = (value) => typeof value === 'string'
export const isBoolean: Check = (value) => typeof value === 'boolean'
export const isNumber: Check = (value) => typeof value === 'number' && !Number.isNaN(value)
export const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0
export const isBytes: Check = (value) => value instanceof Uint8Array

export function isOneOf(known: readonly unknown[]): Check {
  return (value) => known.includes(value)
}

export function isOptional(check: Check): Check {
  return (value) => value === undefined || check(value)
}

export function isListOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every((item: unknown) => check(item))
}

/** A map from texts. */
export function isMapOf(check: Check): Check {
  return (value) =>
    value instanceof Map && [...value].every(([name, item]) => isText(name) && check(item))
}

export function hasMembers(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks)
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    entries.every(([name, check]) => check(Reflect.get(value, name)))
}

/** An object whose member `kind` is a name of the table, and which has the members of that row. */
export function isVariantOf(
  table: Readonly<Record<string, Readonly<Record<string, Check>>>>,
): Check {
  const checks = new Map(Object.entries(table).map(([kind, row]) => [kind, hasMembers(row)]))
  return (value) => {
    const kind: unknown = typeof value === 'object' && value !== null && Reflect.get(value, 'kind')
    return typeof kind === 'string' && checks.get(kind)?.(value) === true
  }
}
