// Generates text token by token. Every generation has its own cache and takes single steps. The event
// loop turns between two steps, so that generations of one model interleave.

import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../../lib/errors.ts'
import { seededRandom } from '../../../lib/random.ts'
import { RequestGate } from '../../batching/request-gate.ts'
import type { GeneratorSpec } from '../../models/model-spec.ts'
import { STREAMS_PER_REPLICA_MAX } from '../../fleet/stream-places.ts'
import type { DecodeStream } from '../../text/streaming-decoder.ts'
import type { TokenizerHandle } from '../../text/tokenizer-handle.ts'
import type { RunnerParts, StreamRunner } from '../model-runner.ts'
import { AnswerText } from './answer-text.ts'
import type { GenerateEnd, GenerateEvent, GenerateRequest } from './generate-request.ts'
import { KvDecoder } from './kv-decoder.ts'
import type { DecoderStep } from './kv-decoder.ts'
import { PromptBuilder } from './prompt-builder.ts'
import { describeDrawn } from './token-logprobs.ts'
import { sampleToken } from './sampler.ts'
import type { SamplingSettings } from './sampler.ts'

/** The most generations that hold a cache at the same time. The fleet sends no more. */
const GATE_LIMITS = { runningMax: STREAMS_PER_REPLICA_MAX, waitingMax: 64 }

/** Opens a generator. */
export async function openGenerateRunner(
  parts: RunnerParts<GeneratorSpec>,
): Promise<StreamRunner<GenerateRequest, GenerateEvent, GenerateEnd>> {
  const prompts = new PromptBuilder(parts.spec, parts.tokenizer.specialTexts)
  const session = await parts.openSession(parts.spec.graphFile)
  const { keyValueHeadCount: headCount, headSize } = parts.spec
  return new GenerateRunner(parts, prompts, new KvDecoder(session, { headCount, headSize }))
}

interface Generation {
  readonly request: GenerateRequest
  readonly promptIds: readonly number[]
  readonly maxTokens: number
  readonly answer: AnswerText
  readonly decoder: DecodeStream
  readonly emit: (event: GenerateEvent) => void
  readonly signal: AbortSignal
}

class GenerateRunner implements StreamRunner<GenerateRequest, GenerateEvent, GenerateEnd> {
  readonly #spec: GeneratorSpec
  readonly #tokenizer: TokenizerHandle
  readonly #prompts: PromptBuilder
  readonly #decoder: KvDecoder
  readonly #eosIds: ReadonlySet<number>
  readonly #keptIds: ReadonlySet<number>
  readonly #gate = new RequestGate(GATE_LIMITS)

  constructor(
    { spec, tokenizer }: RunnerParts<GeneratorSpec>,
    prompts: PromptBuilder,
    decoder: KvDecoder,
  ) {
    this.#spec = spec
    this.#tokenizer = tokenizer
    this.#prompts = prompts
    this.#decoder = decoder
    this.#eosIds = new Set(spec.eosIds)
    const marks = prompts.toolCallMarks.map((mark) => tokenizer.idOf(mark))
    this.#keptIds = new Set(marks.filter((id) => id !== undefined))
  }

  async start(
    request: GenerateRequest,
    emit: (event: GenerateEvent) => void,
    signal: AbortSignal,
  ): Promise<GenerateEnd> {
    signal.throwIfAborted()
    const prompt = this.#prompts.build(request)
    const text = prompt.text + prompt.answerBeginning
    const promptIds = this.#tokenizer.content(text, prompt.unmatchedAt)
    const maxTokens = this.#answerTokensMax(promptIds.length, request.maxTokens)
    const decoder = this.#tokenizer.decodeStream({ keep: this.#keptIds })
    const { toolCallSyntax, answerBeginning } = prompt
    const { stop } = request
    const answer = new AnswerText({ decoder, stop, toolCallSyntax, answerBeginning, emit })
    const leave = await this.#gate.enter(signal)
    try {
      return await this.#generate({ request, promptIds, maxTokens, answer, decoder, emit, signal })
    } finally {
      leave()
    }
  }

  dispose(): Promise<void> {
    return this.#decoder.release()
  }

  #answerTokensMax(promptTokens: number, wanted: number): number {
    const room = this.#spec.maxTokens - promptTokens
    if (promptTokens > 0 && room > 0) return Math.min(wanted, room)
    throw new ServiceError(
      'INVALID_ARGUMENT',
      promptTokens === 0
        ? 'messages: they have no tokens for the model to read; send one with content'
        : `messages: they have ${promptTokens} tokens, but the model takes ${this.#spec.maxTokens} with its answer; send fewer or shorter ones`,
    )
  }

  async #generate(generation: Generation): Promise<GenerateEnd> {
    const { request, promptIds, maxTokens, answer, signal } = generation
    const settings = this.#samplingOf(request)
    const random = seededRandom(request.seed)
    const history = new Map(promptIds.map((id) => [id, 0]))
    let { sequence, logits } = await this.#prefill(promptIds, signal)
    let completionTokens = 0
    for (;;) {
      const id = sampleToken(logits, settings, { history, random })
      if (this.#eosIds.has(id)) break
      completionTokens += 1
      this.#emitDrawn(generation, logits, id)
      history.set(id, (history.get(id) ?? 0) + 1)
      answer.push(id)
      if (answer.isStopped || completionTokens === maxTokens) break
      await nextTurn(signal)
      ;({ sequence, logits } = await this.#decoder.step(sequence, [id]))
    }
    const isCut = completionTokens === maxTokens && !answer.isStopped
    const { hasCalls } = answer.end()
    const finishReason = hasCalls ? 'tool_calls' : isCut ? 'length' : 'stop'
    return { finishReason, promptTokens: promptIds.length, completionTokens }
  }

  /** Feeds the prompt in pieces, so that no run delays the other generations for long. */
  async #prefill(ids: readonly number[], signal: AbortSignal): Promise<DecoderStep> {
    const { tokensPerRun } = this.#decoder
    let sequence = this.#decoder.begin()
    let from = 0
    while (from + tokensPerRun < ids.length) {
      await nextTurn(signal)
      sequence = await this.#decoder.feed(sequence, ids.slice(from, from + tokensPerRun))
      from += tokensPerRun
    }
    await nextTurn(signal)
    return this.#decoder.step(sequence, ids.slice(from))
  }

  #emitDrawn({ request, decoder, emit }: Generation, logits: Float32Array, id: number): void {
    const { topLogprobs: topCount } = request
    if (topCount === undefined) return
    const token = describeDrawn(logits, { id, topCount }, (each) => {
      const text = decoder.peek(each)
      return { text, bytes: this.#tokenizer.bytesOf(each) ?? [...Buffer.from(text)] }
    })
    emit({ kind: 'token', token })
  }

  #samplingOf({ sampling }: GenerateRequest): SamplingSettings {
    const model = this.#spec.sampling
    return {
      temperature: sampling.temperature ?? model.temperature ?? 1,
      topK: sampling.topK ?? model.topK ?? 50,
      topP: sampling.topP ?? model.topP ?? 1,
      repetitionPenalty: sampling.repetitionPenalty ?? model.repetitionPenalty ?? 1,
      frequencyPenalty: sampling.frequencyPenalty ?? 0,
      presencePenalty: sampling.presencePenalty ?? 0,
    }
  }
}

async function nextTurn(signal: AbortSignal): Promise<void> {
  await setImmediate()
  signal.throwIfAborted()
}
