import { isJsonRecord } from '../../../lib/json-record.ts'
import { isText } from '../../text/json-values.ts'
import type { ToolCall } from './generate-request.ts'

/**
 * Parses one call or a list of calls, each with `name` and `arguments` or `parameters`. Undefined
 * if the text is not that.
 */
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

/** The arguments may be an object or, as some models write them, the JSON text of one. */
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
