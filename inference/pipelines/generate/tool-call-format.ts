// The syntaxes in which models write tool calls into their text. A model's configuration names its
// syntax; otherwise its chat template shows it.

import type { ToolCallFormat } from '../../models/model-spec.ts'
import { parseGemmaCall } from './gemma-call.ts'
import type { ToolCall } from './generate-request.ts'
import { parseJsonCalls } from './json-call.ts'
import { JsonExtent } from './json-extent.ts'
import type { CallExtent } from './json-extent.ts'
import { MistralExtent, parseMistralCalls } from './mistral-call.ts'

/** How to find, parse and begin the tool calls of a model. */
export interface ToolCallSyntax {
  /** The mark before a call; undefined: a JSON object at the beginning of the text is a call. */
  readonly open: string | undefined
  /** The mark after a call, or a finder of the end for calls without such a mark. */
  readonly close: string | (() => CallExtent)
  /** Special tokens that decoding must keep. */
  readonly marks: readonly string[]
  /** Parses the text between the marks; undefined: it is not a call and stays text. */
  readonly parse: (body: string) => readonly ToolCall[] | undefined
  /** The beginning of an answer that calls the given tool; undefined: that calls any tool. */
  readonly beginning: (tool: string | undefined) => string
}

/** The parser reads both forms, because a model may continue in the other one. */
const MISTRAL: Omit<ToolCallSyntax, 'beginning'> = {
  open: '[TOOL_CALLS]',
  close: () => new MistralExtent(),
  marks: ['[TOOL_CALLS]', '[CALL_ID]', '[ARGS]'],
  parse: parseMistralCalls,
}

/** The syntax of each format. */
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

/** The format that a chat template shows; undefined: the model does not call tools. */
export function detectToolCallFormat(template: string): ToolCallFormat | undefined {
  return SIGNS.find(([sign]) => template.includes(sign))?.[1]
}
