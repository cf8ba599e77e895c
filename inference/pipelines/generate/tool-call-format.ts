// How models write the calls of tools into their text. Which way a model took up in its training is
// told by its configuration, or shows in its chat template.

import type { ToolCallFormat } from '../../models/model-spec.ts'
import { parseGemmaCall } from './gemma-call.ts'
import type { ToolCall } from './generate-request.ts'
import { parseJsonCalls } from './json-call.ts'
import { JsonExtent } from './json-extent.ts'
import type { CallExtent } from './json-extent.ts'
import { MistralExtent, parseMistralCalls } from './mistral-call.ts'

export interface ToolCallSyntax {
  /** A call begins here; undefined: with a JSON object at the very beginning of the text. */
  readonly open: string | undefined
  /** And ends at this mark, or by itself. */
  readonly close: string | (() => CallExtent)
  /** Special tokens that must not be lost when the text is decoded. */
  readonly marks: readonly string[]
  /** The calls of what stands between; undefined: it is none, so it is text. */
  readonly parse: (body: string) => readonly ToolCall[] | undefined
  /** How a text begins that calls a tool, or this tool. */
  readonly beginning: (tool: string | undefined) => string
}

/** Both forms are understood, whichever a model is made to begin with. */
const MISTRAL: Omit<ToolCallSyntax, 'beginning'> = {
  open: '[TOOL_CALLS]',
  close: () => new MistralExtent(),
  marks: ['[TOOL_CALLS]', '[CALL_ID]', '[ARGS]'],
  parse: parseMistralCalls,
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
    close: () => new JsonExtent(),
    marks: ['<|python_tag|>'],
    parse: parseJsonCalls,
    beginning: (tool) => jsonBeginning(tool, 'parameters') || '{"name": "',
  },
  mistral: {
    ...MISTRAL,
    beginning: (tool) => `[TOOL_CALLS][${jsonBeginning(tool, 'arguments')}`,
  },
  'mistral-args': {
    ...MISTRAL,
    beginning: (tool) => `[TOOL_CALLS]${tool === undefined ? '' : `${tool}[ARGS]`}`,
  },
}

function jsonBeginning(tool: string | undefined, field: string): string {
  return tool === undefined ? '' : `{"name": ${JSON.stringify(tool)}, "${field}": `
}

const SIGNS: readonly (readonly [sign: string, format: ToolCallFormat])[] = [
  ['<start_function_call>', 'functiongemma'],
  ['<tool_call>', 'hermes'],
  ['[ARGS]', 'mistral-args'],
  ['[TOOL_CALLS]', 'mistral'],
  ['<|python_tag|>', 'llama3-json'],
  ['"parameters": dictionary of argument', 'llama3-json'],
]

export function detectToolCallFormat(template: string): ToolCallFormat | undefined {
  return SIGNS.find(([sign]) => template.includes(sign))?.[1]
}
