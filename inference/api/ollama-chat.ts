// A chat, or a prompt, as Ollama's clients send it: requests translated to ours, answers to one object or to lines
// of JSON, the last of which says how it ended and what was counted.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { Generation } from '../pipelines/generate/generate-service.ts'
import type { GenerationEnd } from '../pipelines/generate/generate-service.ts'
import { parseChat } from './chat-request.ts'
import type { ChatBody } from './chat-request.ts'
import { parseKeepAlive } from './keep-alive.ts'
import { validatedBody } from '../../door/operation.ts'
import type { OperationRequest } from '../../door/operation.ts'
import type { Reply } from '../../door/replies.ts'
import type { ApiContext } from './operation.ts'
import { eventsReply } from './event-stream.ts'
import { jsonPiecesReply } from './pieces-reply.ts'

/** The schema ChatRequest of the contract. */
interface OllamaBody {
  readonly model: string
  readonly messages: readonly OllamaMessage[]
  readonly tools: ChatBody['tools']
  readonly stream: boolean
  readonly keep_alive: string | number
  readonly options: OllamaOptions
}

/** The schema PromptedRequest of the contract, with a prompt. */
export interface PromptBody extends ChatBody {
  readonly prompt: string
  readonly system: string
  readonly options: OllamaOptions
}

interface OllamaMessage {
  readonly role: string
  readonly content?: string
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: object }
  }[]
}

interface OllamaOptions {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly repeat_penalty?: number
  readonly presence_penalty?: number
  readonly frequency_penalty?: number
  readonly num_predict?: number
  readonly seed?: number
  readonly stop?: readonly string[]
}

/** Options that have the same name here. Others are for other servers, and nothing checks their values. */
const SAME_OPTIONS = [
  'temperature',
  'top_p',
  'top_k',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'stop',
] as const satisfies readonly (keyof OllamaOptions)[]

const NS_PER_MS = 1_000_000

type Parts = Pick<ApiContext, 'service' | 'clock' | 'random'>

export function answerOllamaChat(request: OperationRequest, parts: Parts): Promise<Reply> {
  const body = validatedBody<OllamaBody>(request)
  return answerAsked(request, parts, { body, chat: chatBody(body), told: asMessage })
}

/** Members that only messages can have. */
const OF_MESSAGES = ['messages', 'tools', 'tool_choice', 'logprobs', 'stream_options'] as const

/** A prompt is a chat of one message, or of two. Refused with INVALID_ARGUMENT: members that only messages can have. */
export function answerPrompt(request: OperationRequest, parts: Parts): Promise<Reply> {
  const body = validatedBody<PromptBody>(request)
  const { prompt = '', system = '', options } = body
  const other = OF_MESSAGES.find((name) => body[name] !== undefined && body[name] !== null)
  if (other !== undefined) {
    const message = `${other} cannot stand beside prompt; send the prompt as one of messages`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  const messages = [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: prompt },
  ]
  const chat = { ...body, ...chatBody({ messages, ...(options && { options }) }) }
  return answerAsked(request, parts, { body, chat, told: asResponse })
}

interface Asked {
  readonly body: Partial<Pick<ChatBody, 'model' | 'stream' | 'keep_alive'>>
  readonly chat: Partial<ChatBody>
  readonly told: Told
}

async function answerAsked(
  { signal }: OperationRequest,
  { service, clock, random }: Parts,
  { body, chat, told }: Asked,
): Promise<Reply> {
  const keepAliveMs = parseKeepAlive(body.keep_alive)
  const asked = parseChat(chat, { nowMs: clock.nowMs(), random })
  const generation = service.generate.generate(body.model ?? '', asked, { keepAliveMs, signal })
  const answer = { generation, clock, startMs: clock.monotonicMs(), told }
  if (body.stream === false) return jsonPiecesReply(await wholeAnswer(answer))
  return eventsReply('lines', lines(answer))
}

function chatBody({ messages = [], tools, options = {} }: Partial<OllamaBody>): Partial<ChatBody> {
  const { repeat_penalty: repetition, num_predict: predict } = options
  const same = SAME_OPTIONS.filter((name) => options[name] !== undefined)
  return {
    ...Object.fromEntries(same.map((name) => [name, options[name]])),
    messages: messages.map(messageBody),
    ...(tools === undefined ? {} : { tools }),
    ...(repetition === undefined ? {} : { repetition_penalty: repetition }),
    // A negative number asks for all tokens that fit.
    ...(predict === undefined || predict <= 0 ? {} : { max_tokens: predict }),
  }
}

function messageBody({ role, content = '', tool_calls: calls }: OllamaMessage) {
  if (calls === undefined) return { role, content }
  const sent = calls.map(({ function: { name, arguments: given } }, index) => ({
    id: `call_${index}`,
    function: { name, arguments: JSON.stringify(given) },
  }))
  return { role, content, tool_calls: sent }
}

/** The members of an answer that tell its text and its calls of tools. */
type Told = (text: string, calls: readonly object[]) => object

const asMessage: Told = (content, calls) => ({
  message: { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
})

/** Nobody asked for tools in a prompt. */
const asResponse: Told = (response) => ({ response })

interface Answer {
  readonly generation: Generation
  readonly clock: Clock
  readonly startMs: number
  readonly told: Told
}

async function wholeAnswer(answer: Answer): Promise<object> {
  const texts: string[] = []
  const calls: object[] = []
  let end: GenerationEnd | undefined
  for await (const event of answer.generation.events) {
    if (event.kind === 'text') texts.push(event.text)
    else if (event.kind === 'tool-call') calls.push(toolCall(event.call))
    else if (event.kind === 'end') end = event
  }
  const ended = endBody(answer, must(end, 'the end of a generation'))
  return { ...ended, ...answer.told(texts.join(''), calls) }
}

async function* lines(answer: Answer): AsyncGenerator<string> {
  const { told } = answer
  const line = (text: string, calls: readonly object[]): string =>
    JSON.stringify({ ...head(answer), ...told(text, calls), done: false })
  for await (const event of answer.generation.events) {
    if (event.kind === 'text') yield line(event.text, [])
    else if (event.kind === 'tool-call') yield line('', [toolCall(event.call)])
    else if (event.kind === 'end') {
      yield JSON.stringify({ ...endBody(answer, event), ...told('', []) })
    }
  }
}

function head({ generation, clock }: Answer): object {
  return { model: generation.model, created_at: new Date(clock.nowMs()).toISOString() }
}

function endBody(answer: Answer, end: GenerationEnd): object {
  const elapsed = Math.round((answer.clock.monotonicMs() - answer.startMs) * NS_PER_MS)
  return {
    ...head(answer),
    done: true,
    done_reason: end.finishReason === 'length' ? 'length' : 'stop',
    total_duration: elapsed,
    load_duration: 0,
    prompt_eval_count: end.promptTokens,
    prompt_eval_duration: 0,
    eval_count: end.completionTokens,
    eval_duration: elapsed,
  }
}

/** Arguments are an object here, but a model may write any text. */
function toolCall({
  name,
  arguments: json,
}: {
  readonly name: string
  readonly arguments: string
}) {
  return { function: { name, arguments: argumentsOf(json) } }
}

function argumentsOf(json: string): object {
  try {
    const parsed: unknown = JSON.parse(json)
    return isJsonRecord(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
