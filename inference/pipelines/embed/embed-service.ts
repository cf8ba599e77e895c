// The server's side of embedding: it finds the model, reads the inputs, answers known results from
// the cache, and runs the rest.

import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { HeldMemory } from '../../../lib/http/request-memory.ts'
import { runSliced } from '../../../lib/sliced.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import { resultKeys } from '../../batching/shared-results.ts'
import type { SharedResults, StartedRun } from '../../batching/shared-results.ts'
import type { FleetRequest } from '../../fleet/model-fleet.ts'
import type { EmbedderSpec } from '../../models/model-spec.ts'
import type { MediaReader } from '../../media/media-reader.ts'
import { CHARS_AT_ONCE_MAX } from '../builtin/builtin-thread.ts'
import type { BuiltinThread } from '../builtin/builtin-thread.ts'
import { buildSharedResults, fleetRequest, requireModel, startItem } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { estimateTokens } from '../token-estimate.ts'
import { relevantPrefix } from '../../text/leading-text.ts'
import {
  BUILTIN_HASH_CHARS_MAX,
  BUILTIN_HASH_DIMENSIONS,
  BUILTIN_HASH_NAME,
  hashEmbeddingInSteps,
} from '../builtin/builtin-hash.ts'
import { costOfEmbedItem } from './embed-item.ts'
import type { EmbedItem, EmbedResult } from './embed-item.ts'
import { imageBytes, readItemGroups } from './item-groups.ts'
import { normalized } from './pooling.ts'

/** One input of a request. */
export type EmbedPart =
  | { readonly kind: 'text'; readonly text: string }
  /** Token ids of the model's own tokenizer. They get no prompt. */
  | { readonly kind: 'tokens'; readonly ids: readonly number[] }
  | { readonly kind: 'image'; readonly url: string }

/** The inputs of one request, which are embedded by one model. */
export interface EmbedRequest extends RequestOptions {
  readonly model: string
  /** The inputs; at least one. */
  readonly parts: readonly EmbedPart[]
  readonly truncate: boolean
  /** Keeps this many leading numbers of each vector and normalizes it again; undefined: all. */
  readonly dimensions: number | undefined
  /** The prompt to put before texts; undefined: the model's default prompt. */
  readonly promptName: string | undefined
  /** The request's memory account, charged with images and vectors. */
  readonly memory: HeldMemory
}

/** The vectors of all inputs. */
export interface EmbedAnswer {
  readonly model: string
  /** One for each input, in order, each of `dimension` numbers. */
  readonly vectors: readonly Float32Array[]
  readonly dimension: number
  readonly tokens: number
  /** The number of texts whose end was not read. */
  readonly cutCount: number
  /** The part of this request's time in ms that loading the model took. */
  readonly loadMs: number
}

/**
 * Embeds texts and images by a model or by the built-in embedder. Unknown models reject with
 * NOT_FOUND, inputs that the model cannot embed with INVALID_ARGUMENT.
 */
export class EmbedService {
  readonly #parts: ServiceParts
  readonly #media: MediaReader
  readonly #thread: BuiltinThread
  readonly #results: SharedResults<EmbedResult>

  constructor(parts: ServiceParts, media: MediaReader, thread: BuiltinThread) {
    this.#parts = parts
    this.#media = media
    this.#thread = thread
    this.#results = buildSharedResults(parts, 'embed', ({ vector }) => vector.byteLength)
  }

  /** The names of all embedders, the built-in one first. */
  modelNames(): string[] {
    return [BUILTIN_HASH_NAME, ...this.#parts.catalog.ofKind('embedder').map(({ name }) => name)]
  }

  /** Embeds all inputs of a request, or rejects with the first failure. */
  async embed(request: EmbedRequest): Promise<EmbedAnswer> {
    if (request.model === BUILTIN_HASH_NAME) return this.#embedBuiltIn(request)
    const startMs = this.#parts.clock.monotonicMs()
    const spec = requireModel(this.#parts.catalog, 'embedder', request.model)
    const fleetAsked = fleetRequest(this.#parts, request)
    const results: EmbedResult[] = []
    for await (const items of this.#itemsOf(request, spec)) {
      const keys = await keysOf(spec, items)
      const found = await this.#results.getMany(
        keys,
        (index) => this.#start(spec, must(items[index], 'an item for each key'), fleetAsked),
        request.signal,
      )
      results.push(...found.map(({ value }) => value))
      request.memory.release(imageBytes(items))
      request.memory.add(found.reduce((sum, { value }) => sum + value.vector.byteLength, 0))
    }
    const load = this.#parts.fleet.lastLoadOf(spec)
    const isOurs = load !== undefined && load.finishedAtMs > startMs
    return {
      model: spec.name,
      ...shortened(
        results.map(({ vector }) => vector),
        request.dimensions,
      ),
      tokens: results.reduce((sum, { tokens }) => sum + tokens, 0),
      cutCount: results.filter(({ isCut }) => isCut).length,
      loadMs: isOurs ? load.durationMs : 0,
    }
  }

  #itemsOf(
    { parts, promptName, truncate, signal, memory }: EmbedRequest,
    spec: EmbedderSpec,
  ): AsyncIterable<readonly EmbedItem[]> {
    const prefix = prefixOf(promptName ?? spec.defaultPrompt, spec)
    if (spec.image === undefined) checkTextOnly(parts, spec.name)
    return readItemGroups(parts, async (part) => {
      if (part.kind === 'text') {
        return { kind: 'text', text: relevantPrefix(prefix + part.text, spec.maxTokens), truncate }
      }
      if (part.kind === 'tokens') return { kind: 'tokens', ids: part.ids, truncate }
      const { bytes } = await this.#media.readImage(part.url, { signal, memory })
      return { kind: 'image', bytes }
    })
  }

  async #embedBuiltIn(request: EmbedRequest): Promise<EmbedAnswer> {
    const { parts, promptName, signal, dimensions: dimension = BUILTIN_HASH_DIMENSIONS } = request
    checkTextOnly(parts, BUILTIN_HASH_NAME)
    if (parts.some(({ kind }) => kind === 'tokens')) {
      const message = `input: ${BUILTIN_HASH_NAME} has no tokens; send texts`
      throw new ServiceError('INVALID_ARGUMENT', message)
    }
    if (promptName !== undefined) {
      throw new ServiceError('INVALID_ARGUMENT', `prompt_name: ${BUILTIN_HASH_NAME} has no prompts`)
    }
    if (dimension > BUILTIN_HASH_DIMENSIONS) throw tooManyDimensions(BUILTIN_HASH_DIMENSIONS)
    const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
    if (!request.truncate && texts.some(({ length }) => length > BUILTIN_HASH_CHARS_MAX)) {
      const message = `input: ${BUILTIN_HASH_NAME} reads ${BUILTIN_HASH_CHARS_MAX} characters of a text; send less, or truncate: true`
      throw new ServiceError('INVALID_ARGUMENT', message)
    }
    const seen = texts.map((text) => text.slice(0, BUILTIN_HASH_CHARS_MAX))
    const chars = seen.reduce((sum, { length }) => sum + length, 0)
    const vectors =
      chars <= CHARS_AT_ONCE_MAX
        ? await this.#hashHere(seen, dimension, signal)
        : await this.#thread.embed(seen, dimension, signal)
    const tokens = estimateTokens(chars)
    const cutCount = texts.filter(({ length }) => length > BUILTIN_HASH_CHARS_MAX).length
    return { model: BUILTIN_HASH_NAME, vectors, dimension, tokens, cutCount, loadMs: 0 }
  }

  async #hashHere(
    texts: readonly string[],
    dimension: number,
    signal: AbortSignal,
  ): Promise<Float32Array[]> {
    const slices = { clock: this.#parts.clock, signal }
    return runSliced(hashAll(texts, dimension), slices)
  }

  #start(spec: EmbedderSpec, item: EmbedItem, asked: FleetRequest): StartedRun<EmbedResult> {
    const sent = {
      item,
      cost: costOfEmbedItem(item, spec.maxTokens),
      group: item.kind === 'image' ? 'image' : 'text',
    }
    const { promise, cancel } = startItem<EmbedResult>(this.#parts, spec, sent, asked)
    const counted = promise.then((result) => {
      this.#parts.onTokens(spec.name, { input: result.tokens, output: 0 })
      return result
    })
    return { promise: counted, cancel }
  }
}

function* hashAll(texts: readonly string[], dimension: number): Sliced<Float32Array[]> {
  const vectors: Float32Array[] = []
  for (const text of texts) vectors.push(yield* hashEmbeddingInSteps(text, dimension))
  return vectors
}

function checkTextOnly(parts: readonly EmbedPart[], model: string): void {
  const index = parts.findIndex(({ kind }) => kind === 'image')
  if (index < 0) return
  const message =
    `input[${index}]: model ${model} embeds only text; ` +
    'send text, or use a model of text and images'
  throw new ServiceError('INVALID_ARGUMENT', message)
}

function prefixOf(name: string | undefined, { prompts }: EmbedderSpec): string {
  if (name === undefined) return ''
  const prefix = Object.hasOwn(prompts, name) ? prompts[name] : undefined
  if (prefix !== undefined) return prefix
  const known = Object.keys(prompts).join(', ') || 'none'
  throw new ServiceError('INVALID_ARGUMENT', `prompt_name: the model's prompts are: ${known}`)
}

/**
 * The key of a text holds its characters and whether it may be truncated; that of an image, its
 * bytes.
 */
async function keysOf(spec: EmbedderSpec, items: readonly EmbedItem[]): Promise<string[]> {
  const lists: string[][] = []
  for (const item of items) {
    const content = item.kind === 'image' ? [await digestOf(item.bytes)] : textContent(item)
    lists.push([spec.name, item.kind, ...content])
  }
  return resultKeys(lists)
}

function textContent(item: Exclude<EmbedItem, { readonly kind: 'image' }>): readonly string[] {
  const content = item.kind === 'text' ? item.text : item.ids.join(',')
  return [String(item.truncate), content]
}

const HASHED_AT_ONCE_BYTES = 1024 * 1024

/**
 * Hashes in pieces: an image may have a hundred megabytes, and the thread must serve other clients.
 */
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let from = 0; from < bytes.length; from += HASHED_AT_ONCE_BYTES) {
    hash.update(bytes.subarray(from, from + HASHED_AT_ONCE_BYTES))
    await setImmediate()
  }
  return hash.digest('base64')
}

function tooManyDimensions(size: number): ServiceError {
  const message = `dimensions: the model's vectors have ${size} numbers; ask for at most as many`
  return new ServiceError('INVALID_ARGUMENT', message)
}

function shortened(
  vectors: readonly Float32Array[],
  dimensions: number | undefined,
): { readonly vectors: readonly Float32Array[]; readonly dimension: number } {
  const size = vectors[0]?.length ?? 0
  if (dimensions === undefined || dimensions === size) return { vectors, dimension: size }
  if (dimensions > size) throw tooManyDimensions(size)
  const cut = vectors.map((vector) =>
    must(normalized(vector.slice(0, dimensions)), 'a part of a finite vector is finite'),
  )
  return { vectors: cut, dimension: dimensions }
}
