// Runs a decoder step by step with its key-value cache: the answers `present.*` of each step are the
// inputs `past_key_values.*` of the next.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { floatsOf, integerTensor } from '../../runtime/graph-feeds.ts'
import type { GraphSession, GraphSlot, GraphTensor } from '../../runtime/graph-session.ts'
import { emptyCache, flagTensor, isCacheInput, presentName } from '../key-value-cache.ts'
import type { CacheShape } from '../key-value-cache.ts'
import { outputName } from '../row-outputs.ts'

/** The most tokens of one run, which bounds the time that a step delays the other generations. */
const TOKENS_PER_RUN_MAX = 512
/** A graph may answer a row of logits for every input token. This keeps them below 128 MiB. */
const LOGITS_PER_RUN_MAX = 32 * 1024 * 1024
const USUAL_VOCABULARY_SIZE = 256 * 1024

type Tensors = Readonly<Record<string, GraphTensor>>

/** The state of one generation: its tokens and their cache. Steps return a new one. */
export interface DecodedSequence {
  readonly cache: Tensors
  /** All tokens that were fed. */
  readonly ids: readonly number[]
}

/** The result of one step. */
export interface DecoderStep {
  readonly sequence: DecodedSequence
  /** The logits of the next token. */
  readonly logits: Float32Array
}

/** Runs one decoder for many sequences. The sequences share only the graph. */
export class KvDecoder {
  readonly #session: GraphSession
  readonly #shape: CacheShape
  readonly #cacheInputs: readonly GraphSlot[]
  readonly #logitsName: string

  constructor(session: GraphSession, shape: CacheShape) {
    this.#session = session
    this.#shape = shape
    this.#cacheInputs = session.inputs.filter(({ name }) => isCacheInput(name))
    this.#logitsName = outputName(session)
  }

  begin(): DecodedSequence {
    return { cache: emptyCache(this.#cacheInputs, this.#shape), ids: [] }
  }

  /** The most tokens that one `feed` or `step` may take. */
  get tokensPerRun(): number {
    const logits = this.#session.outputs.find(({ name }) => name === this.#logitsName)
    const vocabularySize = logits?.dims.at(-1) ?? USUAL_VOCABULARY_SIZE
    const byLogits = Math.max(1, Math.floor(LOGITS_PER_RUN_MAX / vocabularySize))
    return Math.min(TOKENS_PER_RUN_MAX, byLogits)
  }

  /** Feeds tokens without asking for logits. */
  async feed(sequence: DecodedSequence, ids: readonly number[]): Promise<DecodedSequence> {
    const grown = this.#cacheInputs.map(({ name }) => presentName(name))
    // A graph without a cache reads the whole sequence at the next step.
    if (grown.length === 0) return { cache: {}, ids: [...sequence.ids, ...ids] }
    const answers = await this.#run(sequence, ids, grown)
    return this.#sequenceAfter(sequence, ids, answers)
  }

  /** Feeds tokens and answers the logits of the next one. */
  async step(sequence: DecodedSequence, ids: readonly number[]): Promise<DecoderStep> {
    const answers = await this.#run(sequence, ids)
    const logits = lastRow(tensorOf(answers, this.#logitsName))
    return { sequence: this.#sequenceAfter(sequence, ids, answers), logits }
  }

  release(): Promise<void> {
    return this.#session.release()
  }

  #run(
    sequence: DecodedSequence,
    ids: readonly number[],
    wanted?: readonly string[],
  ): Promise<Tensors> {
    const total = sequence.ids.length + ids.length
    const fed = this.#cacheInputs.length === 0 ? [...sequence.ids, ...ids] : ids
    return this.#session.run({ ...this.#feeds(fed, total), ...sequence.cache }, wanted)
  }

  #sequenceAfter(
    sequence: DecodedSequence,
    ids: readonly number[],
    answers: Tensors,
  ): DecodedSequence {
    const cache = Object.fromEntries(
      this.#cacheInputs.map(({ name }) => [name, tensorOf(answers, presentName(name))]),
    )
    return { cache, ids: [...sequence.ids, ...ids] }
  }

  #feeds(fed: readonly number[], total: number): Record<string, GraphTensor> {
    const past = total - fed.length
    const feeds: Record<string, GraphTensor> = {}
    for (const slot of this.#session.inputs) {
      const { name } = slot
      if (name === 'input_ids') feeds[name] = integerTensor(slot, [1, fed.length], fed)
      else if (name === 'attention_mask') {
        feeds[name] = integerTensor(
          slot,
          [1, total],
          Int32Array.from({ length: total }, () => 1),
        )
      } else if (name === 'position_ids') {
        const positions = fed.map((_, index) => past + index)
        feeds[name] = integerTensor(slot, [1, fed.length], positions)
      } else if (name === 'use_cache_branch') feeds[name] = flagTensor(slot, past > 0)
      else if (name === 'num_logits_to_keep' || name === 'logits_to_keep') {
        feeds[name] = integerTensor(slot, [], [1])
      }
    }
    return feeds
  }
}

function tensorOf(answers: Tensors, name: string): GraphTensor {
  return must(answers[name], `output ${name}`)
}

function lastRow(logits: GraphTensor): Float32Array {
  const size = logits.dims.at(-1) ?? 0
  const values = floatsOf(logits)
  if (size === 0 || values.length < size) {
    throw new ServiceError('INFERENCE_FAILED', 'the graph answered no logits')
  }
  return values.slice(values.length - size)
}
