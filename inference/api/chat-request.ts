// A chat request as clients send it, and what the generator is asked.

import { ServiceError } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import type {
  ChatMessage,
  ChatTool,
  GenerateRequest,
  ToolChoice,
} from '../pipelines/generate/generate-request.ts'
import type { SamplingSettings } from '../pipelines/generate/sampler.ts'

/** The schema GenerateRequest of the contract. */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly MessageBody[]
  readonly max_tokens: number | null
  readonly max_completion_tokens: number | null
  readonly temperature: number | null
  readonly top_p: number | null
  readonly top_k: number | null
  readonly repetition_penalty: number | null
  readonly frequency_penalty: number | null
  readonly presence_penalty: number | null
  readonly logprobs: boolean | null
  readonly top_logprobs: number | null
  readonly seed: number | null
  readonly stop: string | readonly string[] | null
  readonly stream: boolean | null
  readonly stream_options: { readonly include_usage?: boolean } | null
  readonly tools: readonly ToolBody[]
  readonly tool_choice: ToolChoiceBody
  readonly keep_alive: string | number
}

interface MessageBody {
  readonly role: string
  readonly content?: string | null | readonly { readonly text: string }[]
  readonly tool_calls?: readonly {
    readonly id?: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

interface ToolBody {
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: object
  }
}

type ToolChoiceBody =
  'auto' | 'none' | 'required' | { readonly function: { readonly name: string } }

const TOKENS_DEFAULT = 2_048
const SEED_LIMIT = 2 ** 32
const SHOWN_NAME_LENGTH_MAX = 200
/** The depth of a tool's parameters. Deeper values could be neither sent to a worker nor written out there. */
const TOOL_DEPTH_MAX = 100

export function parseChat(
  body: Partial<ChatBody>,
  { nowMs, random }: { readonly nowMs: number; readonly random: Random },
): GenerateRequest {
  const tools = (body.tools ?? []).map(parseTool)
  return {
    messages: (body.messages ?? []).map(parseMessage),
    tools,
    toolChoice: parseToolChoice(body.tool_choice ?? 'auto', tools),
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? TOKENS_DEFAULT,
    stop: parseStop(body.stop ?? []),
    sampling: parseSampling(body),
    topLogprobs: parseTopLogprobs(body),
    seed: body.seed ?? Math.floor(random() * SEED_LIMIT),
    nowMs,
  }
}

function parseMessage(message: MessageBody): ChatMessage {
  const { role, content = null, tool_calls: calls, tool_call_id: answered } = message
  return {
    // What newer clients call developer, templates know as system.
    role: role === 'developer' ? 'system' : role,
    content: textOf(content),
    ...(calls === undefined ? {} : { toolCalls: calls.map(parseToolCall) }),
    ...(answered === undefined ? {} : { toolCallId: answered }),
  }
}

function textOf(content: string | null | readonly { readonly text: string }[]): string {
  if (content === null) return ''
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

type ToolCallBody = NonNullable<MessageBody['tool_calls']>[number]

function parseToolCall({ id = '', function: { name, arguments: json } }: ToolCallBody) {
  return { id, name, arguments: json }
}

function parseTool(tool: ToolBody, index: number): ChatTool {
  const { name, description, parameters } = tool.function
  if (parameters === undefined || isWithinDepth(parameters, TOOL_DEPTH_MAX)) {
    return { name, description, parameters }
  }
  const place = `tools[${index}].function.parameters`
  const message = `${place} is nested more than ${TOOL_DEPTH_MAX} levels deep; make it flatter`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

function isWithinDepth(value: unknown, levelsMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levelsMax === 0) return false
  return Object.values(value).every((member) => isWithinDepth(member, levelsMax - 1))
}

function parseToolChoice(choice: ToolChoiceBody, tools: readonly ChatTool[]): ToolChoice {
  if (typeof choice !== 'string') {
    const { name } = choice.function
    if (tools.some((tool) => tool.name === name)) return { kind: 'function', name }
    const shown = JSON.stringify(name.slice(0, SHOWN_NAME_LENGTH_MAX))
    const message = `tool_choice: no tool is called ${shown}; name one of tools`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  if (choice === 'required' && tools.length === 0) {
    throw new ServiceError('INVALID_ARGUMENT', 'tool_choice: required needs tools; send some')
  }
  return { kind: choice }
}

function parseStop(stop: string | readonly string[]): readonly string[] {
  return typeof stop === 'string' ? [stop] : stop
}

/** An absent or null option has the model's default. */
function parseSampling(body: Partial<ChatBody>): Partial<SamplingSettings> {
  const { temperature, top_p: topP, top_k: topK, repetition_penalty: repetition } = body
  const { frequency_penalty: frequency, presence_penalty: presence } = body
  return {
    ...(isGiven(temperature) ? { temperature } : {}),
    ...(isGiven(topP) ? { topP } : {}),
    ...(isGiven(topK) ? { topK } : {}),
    ...(isGiven(repetition) ? { repetitionPenalty: repetition } : {}),
    ...(isGiven(frequency) ? { frequencyPenalty: frequency } : {}),
    ...(isGiven(presence) ? { presencePenalty: presence } : {}),
  }
}

function parseTopLogprobs({ logprobs, top_logprobs: top }: Partial<ChatBody>): number | undefined {
  if (logprobs === true) return top ?? 0
  if (!isGiven(top) || top === 0) return undefined
  throw new ServiceError('INVALID_ARGUMENT', 'top_logprobs needs logprobs: true; send both')
}

function isGiven(value: number | null | undefined): value is number {
  return value !== null && value !== undefined
}
