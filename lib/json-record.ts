/** An object of a parsed JSON text. Any member may be absent, and any value may have any type. */
export type JsonRecord = Readonly<Record<string, unknown>>

export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isListOf<T>(
  value: unknown,
  isMember: (member: unknown) => member is T,
): value is readonly T[] {
  return Array.isArray(value) && value.every((member) => isMember(member))
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value)
}

/** The record that JSON text is. Throws what `invalid` makes for anything else. */
export function readJsonRecord(bytes: Uint8Array, invalid: () => Error): JsonRecord {
  const record = parseJsonRecord(bytes)
  if (record === undefined) throw invalid()
  return record
}

/** The record that JSON text is; undefined for anything else. */
export function parseJsonRecord(bytes: Uint8Array): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return isJsonRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
