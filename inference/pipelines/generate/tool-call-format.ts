// How models write the calls of tools into their text. Which way a model took up in its training is
// told by its configuration, or shows in its chat template.

import type { ToolCallFormat } from '../../models/model-spec.ts'
import { isJsonRecord, isText } from '../../text/json-record.ts'
import { parseGemmaCall } from './gemma-call.ts'
import type { ToolCall } from './generate-request.ts'

export interface ToolCallSyntax {
  /** A call begins here; undefined: with a JSON object at the very beginning of the text. */
  readonly open: string | undefined
  /** And ends here; undefined: where the JSON value after `open` ends. */
  readonly close: string | undefined
  /** Special tokens that must not be lost when the text is decoded. */
  readonly marks: readonly string[]
  /** The calls of what stands between; undefined: it is none, so it is text. */
  readonly parse: (body: string) => readonly ToolCall[] | undefined
  /** How a text begins that calls a tool, or this tool. */
  readonly beginning: (tool: string | undefined) => string
}

export const TOOL_CALL_SYNTAX: Readonly<Record<ToolCallFormat, ToolCallSyntax>> = {
  functiongemma: {
    open: '<start_function_call>',
    close: '<end_function_call>',
    marks: ['<start_function_call>', '<end_function_call>', '<escape>'],
    parse: parseGemmaCall,
    beginning: (tool) => `<start_function_call>call:${tool === undefined ? '' : `${tool}{`}`,
  },
  hermes: {
    open: '<tool_call>',
    close: '</tool_call>',
    marks: ['<tool_call>', '</tool_call>'],
    parse: parseJsonCalls,
    beginning: (tool) => `<tool_call>\n${jsonBeginning(tool, 'arguments')}`,
  },
  'llama3-json': {
    open: undefined,
    close: undefined,
    marks: ['<|python_tag|>'],
    parse: parseJsonCalls,
    beginning: (tool) => jsonBeginning(tool, 'parameters') || '{"name": "',
  },
  mistral: {
    open: '[TOOL_CALLS]',
    close: undefined,
    marks: ['[TOOL_CALLS]'],
    parse: parseJsonCalls,
    beginning: (tool) => `[TOOL_CALLS][${jsonBeginning(tool, 'arguments')}`,
  },
}

function jsonBeginning(tool: string | undefined, field: string): string {
  return tool === undefined ? '' : `{"name": ${JSON.stringify(tool)}, "${field}": `
}

const SIGNS: readonly (readonly [sign: string, format: ToolCallFormat])[] = [
  ['<start_function_call>', 'functiongemma'],
  ['<tool_call>', 'hermes'],
  ['[TOOL_CALLS]', 'mistral'],
  ['<|python_tag|>', 'llama3-json'],
  ['"parameters": dictionary of argument', 'llama3-json'],
]

export function detectToolCallFormat(template: string): ToolCallFormat | undefined {
  return SIGNS.find(([sign]) => template.includes(sign))?.[1]
}

/** One call or a list of them, each with `name` and `arguments` or `parameters`. */
function parseJsonCalls(body: string): readonly ToolCall[] | undefined {
  const value = parseJson(body)
  const calls = (Array.isArray(value) ? value : [value]).map(parseJsonCall)
  const known = calls.filter((call) => call !== undefined)
  return known.length === calls.length && calls.length > 0 ? known : undefined
}

function parseJsonCall(value: unknown): ToolCall | undefined {
  if (!isJsonRecord(value)) return undefined
  const { name } = value
  const given = value['arguments'] ?? value['parameters'] ?? {}
  // Some models write the arguments as a JSON text.
  const parsed = isText(given) ? parseJson(given) : given
  return isText(name) && name !== '' && isJsonRecord(parsed)
    ? { name, arguments: JSON.stringify(parsed) }
    : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
