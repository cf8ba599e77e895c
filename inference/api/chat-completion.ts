// Answers to a chat in the two shapes of chat completions: one object, or a stream of chunks.
//
// A stream: a chunk with the role, chunks with content or tool calls, one with the finish reason, and
// one with the usage if that was asked for.

import { must } from '../../lib/assert.ts'
import type { Random } from '../../lib/random.ts'
import type { GenerateEvent } from '../pipelines/generate/generate-request.ts'
import type { Generation, GenerationEnd } from '../pipelines/generate/generate-service.ts'
import type { DrawnToken, TokenLogprob } from '../pipelines/generate/token-logprobs.ts'
import { parseChat } from './chat-request.ts'
import type { ChatBody } from './chat-request.ts'
import { parseKeepAlive } from './keep-alive.ts'
import { validatedBody } from '../../door/operation.ts'
import type { OperationRequest } from '../../door/operation.ts'
import type { Reply } from '../../door/replies.ts'
import type { ApiContext } from './operation.ts'
import { eventsReply } from './event-stream.ts'
import { jsonPiecesReply } from './pieces-reply.ts'

const ID_DIGITS = 24

export async function answerChat(
  request: OperationRequest,
  { service, clock, random }: Pick<ApiContext, 'service' | 'clock' | 'random'>,
): Promise<Reply> {
  const body = validatedBody<ChatBody>(request)
  const nowMs = clock.nowMs()
  const generation = service.generate.generate(
    body.model ?? '',
    parseChat(body, { nowMs, random }),
    {
      keepAliveMs: parseKeepAlive(body.keep_alive),
      signal: request.signal,
    },
  )
  const envelope = {
    id: `chatcmpl-${randomId(random)}`,
    created: Math.floor(nowMs / 1000),
    model: generation.model,
  }
  const answer = { generation, envelope, random }
  if (body.stream !== true) return jsonPiecesReply(await wholeAnswer(answer))
  const withUsage = body.stream_options?.include_usage === true
  return eventsReply('sse', chunks(answer, withUsage))
}

interface Envelope {
  readonly id: string
  readonly created: number
  readonly model: string
}

interface Answer {
  readonly generation: Generation
  readonly envelope: Envelope
  /** For the ids of tool calls. */
  readonly random: Random
}

async function wholeAnswer({ generation, envelope, random }: Answer): Promise<object> {
  const texts: string[] = []
  const tokens: object[] = []
  const calls: object[] = []
  let end: GenerationEnd | undefined
  for await (const event of generation.events) {
    if (event.kind === 'text') texts.push(event.text)
    else if (event.kind === 'tool-call') calls.push(toolCallBody(event, random))
    else if (event.kind === 'token') tokens.push(tokenBody(event.token))
    else end = event
  }
  const { finishReason, ...counts } = must(end, 'the end of a generation')
  const text = texts.join('')
  const content = calls.length > 0 && text.trim() === '' ? null : text
  const logprobs = generation.hasLogprobs ? { content: tokens } : null
  const message = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  return {
    ...envelope,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishReason, logprobs }],
    usage: usageOf(counts),
  }
}

async function* chunks(
  { generation, envelope, random }: Answer,
  withUsage: boolean,
): AsyncGenerator<string> {
  const chunk = (delta: object, finishReason: string | null, logprobs: object | null = null) =>
    JSON.stringify({
      ...envelope,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finishReason, logprobs }],
      ...(withUsage ? { usage: null } : {}),
    })
  let hasBegun = false
  for await (const event of generation.events) {
    // Not before the first event: until then a refusal is still an error with a status.
    if (!hasBegun) yield chunk({ role: 'assistant' }, null)
    hasBegun = true
    if (event.kind === 'text') yield chunk({ content: event.text }, null)
    else if (event.kind === 'tool-call') {
      yield* toolCallDeltas(event.index, toolCallBody(event, random), chunk)
    } else if (event.kind === 'token') {
      yield chunk({ content: '' }, null, { content: [tokenBody(event.token)] })
    } else {
      yield chunk({}, event.finishReason)
      if (withUsage) yield usageChunk(envelope, event)
    }
  }
}

type ToolCallEvent = Extract<GenerateEvent, { readonly kind: 'tool-call' }>

function* toolCallDeltas(
  index: number,
  { id, type, function: call }: ToolCallBody,
  chunk: (delta: object, finishReason: string | null) => string,
): Generator<string> {
  const first = { index, id, type, function: { name: call.name, arguments: '' } }
  yield chunk({ tool_calls: [first] }, null)
  yield chunk({ tool_calls: [{ index, function: { arguments: call.arguments } }] }, null)
}

type ToolCallBody = ReturnType<typeof toolCallBody>

function toolCallBody({ call }: ToolCallEvent, random: Random) {
  return { id: `call_${randomId(random)}`, type: 'function', function: call }
}

function tokenBody({ top, ...drawn }: DrawnToken): object {
  return { ...logprobBody(drawn), top_logprobs: top.map(logprobBody) }
}

function logprobBody({ text, bytes, logprob }: TokenLogprob) {
  return { token: text, logprob, bytes }
}

function usageChunk(envelope: Envelope, counts: TokenCounts): string {
  return JSON.stringify({
    ...envelope,
    object: 'chat.completion.chunk',
    choices: [],
    usage: usageOf(counts),
  })
}

type TokenCounts = Pick<GenerationEnd, 'promptTokens' | 'completionTokens'>

function usageOf({ promptTokens, completionTokens }: TokenCounts): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}

function randomId(random: Random): string {
  const digits = Array.from({ length: ID_DIGITS }, () => Math.floor(random() * 16).toString(16))
  return digits.join('')
}
