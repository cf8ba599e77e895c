/** An object of a parsed JSON text. Any member may be absent, and any value may have any type. */
export type JsonRecord = Readonly<Record<string, unknown>>

export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
