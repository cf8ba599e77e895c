/** An object of a parsed JSON text: any key may be absent, any value may be anything. */
export type JsonRecord = Readonly<Record<string, unknown>>

export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
