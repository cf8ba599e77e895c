import { isJsonRecord, isText } from '../../../lib/json-record.ts'
import type { ToolCall } from './generate-request.ts'

/** One call or a list of them, each with `name` and `arguments` or `parameters`. */
export function parseJsonCalls(body: string): readonly ToolCall[] | undefined {
  const value = parseJson(body)
  const calls = (Array.isArray(value) ? value : [value]).map(parseJsonCall)
  const known = calls.filter((call) => call !== undefined)
  return known.length === calls.length && calls.length > 0 ? known : undefined
}

function parseJsonCall(value: unknown): ToolCall | undefined {
  if (!isJsonRecord(value)) return undefined
  const { name } = value
  return isText(name)
    ? buildJsonCall(name, value['arguments'] ?? value['parameters'] ?? {})
    : undefined
}

/** Arguments are an object, or its JSON as a text, which some models write. */
export function buildJsonCall(name: string, given: unknown): ToolCall | undefined {
  const parsed = isText(given) ? parseJson(given) : given
  const isCall = name !== '' && isJsonRecord(parsed)
  return isCall ? { name, arguments: JSON.stringify(parsed) } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
