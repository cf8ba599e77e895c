import { setImmediate as nextTurn } from 'node:timers/promises'
import { must } from '../../../lib/assert.ts'
import { ServiceError, isServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { runSliced } from '../../../lib/sliced.ts'
import { resultKey } from '../../batching/shared-results.ts'
import type { SharedResults, StartedRun } from '../../batching/shared-results.ts'
import type { ChunkerSpec } from '../../models/model-spec.ts'
import type { BuiltinThread } from '../builtin/builtin-thread.ts'
import { CHARS_AT_ONCE_MAX } from '../builtin/builtin-thread.ts'
import { buildSharedResults, notOfKind, fleetRequest, startItem } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import { WINDOWED_CHARS_MAX } from '../window-limits.ts'
import { costOfChunkItem } from './chunk-item.ts'
import type { ChunkItem, ChunkResult } from './chunk-item.ts'
import { buildChunkSettings } from '../builtin/chunk-settings.ts'
import type { ChunkSettings } from '../builtin/chunk-settings.ts'
import { chunkFixed } from '../builtin/fixed-chunker.ts'
import type { TextRange } from '../builtin/word-scanner.ts'

/** The name of the built-in chunker. */
export const FIXED_CHUNKER = 'fixed'
/** All names of the built-in chunker; the others are those of other servers' built-in chunkers. */
export const FIXED_ALIASES: ReadonlySet<string> = new Set([
  FIXED_CHUNKER,
  'fixed-bert-tokenizer',
  'fixed-bpe-tokenizer',
])
const RANGE_BYTES = 48

/** One text to cut by a chunker. Absent settings take their defaults. */
export interface ChunkRequest extends RequestOptions {
  readonly model: string
  readonly text: string
  readonly settings: Partial<ChunkSettings>
}

/** The chunks of the text, as ranges in UTF-16 code units. */
export interface ChunkAnswer {
  /** The chunker that made the chunks; `fixed` if the requested model failed. */
  readonly model: string
  readonly ranges: readonly TextRange[]
  readonly isFromCache: boolean
  /** Whether there was more text than the settings allow chunks for. */
  readonly isCut: boolean
}

/**
 * Cuts texts by a model or by the built-in chunker, which also steps in when a model fails. Unknown
 * models reject with NOT_FOUND, bad settings and empty texts with INVALID_ARGUMENT.
 */
export class ChunkService {
  readonly #parts: ServiceParts
  readonly #thread: BuiltinThread
  readonly #log: Log
  readonly #results: SharedResults<ChunkResult>

  constructor(parts: ServiceParts, thread: BuiltinThread, log: Log) {
    this.#parts = parts
    this.#thread = thread
    this.#log = log
    this.#results = buildSharedResults(parts, 'chunk', bytesOfResult)
  }

  /** The names of all chunkers, the built-in one first. */
  modelNames(): string[] {
    return [FIXED_CHUNKER, ...this.#parts.catalog.ofKind('chunker').map(({ name }) => name)]
  }

  async chunk(request: ChunkRequest): Promise<ChunkAnswer> {
    const settings = buildChunkSettings(request.settings)
    const { text, signal } = request
    if (!(await hasVisible(text))) {
      throw new ServiceError('INVALID_ARGUMENT', 'text is required: it holds only white space')
    }
    const spec = this.#specOf(request.model)
    const key = await resultKey([spec?.name ?? FIXED_CHUNKER, JSON.stringify(settings), text])
    const start = (): StartedRun<ChunkResult> =>
      spec === undefined
        ? this.#startFixed(text, settings)
        : this.#startModel(spec, { text, settings }, request)
    const [found] = await this.#results.getMany([key], start, signal)
    const { value, source } = must(found, 'a result for the one key')
    return {
      model: value.chunkedBy === 'fixed' || spec === undefined ? FIXED_CHUNKER : spec.name,
      ranges: value.chunks,
      isFromCache: source === 'cache',
      isCut: value.chunks.length === settings.maxChunks && hasTextBehind(text, value.chunks),
    }
  }

  #specOf(name: string): ChunkerSpec | undefined {
    if (FIXED_ALIASES.has(name)) return undefined
    const spec = this.#parts.catalog.find('chunker', name)
    if (spec !== undefined) return spec
    throw notOfKind(this.#parts.catalog, 'chunker', name)
  }

  #startFixed(text: string, settings: ChunkSettings): StartedRun<ChunkResult> {
    const left = new AbortController()
    const item = { text, settings }
    return { promise: this.#chunkFixed(item, left.signal), cancel: () => left.abort() }
  }

  async #chunkFixed({ text, settings }: ChunkItem, signal: AbortSignal): Promise<ChunkResult> {
    const chunks =
      text.length <= CHARS_AT_ONCE_MAX
        ? await runSliced(chunkFixed(text, settings), { clock: this.#parts.clock, signal })
        : await this.#thread.chunk(text, settings, signal)
    return { chunkedBy: 'fixed', chunks }
  }

  #startModel(
    spec: ChunkerSpec,
    item: ChunkItem,
    options: RequestOptions,
  ): StartedRun<ChunkResult> {
    if (item.text.length > WINDOWED_CHARS_MAX) {
      this.#log.warn('text too long for a chunker, using the fixed one', { model: spec.name })
      return this.#startFixed(item.text, item.settings)
    }
    const sent = { item, cost: costOfChunkItem(item), group: 'text' }
    const asked = fleetRequest(this.#parts, options)
    const left = new AbortController()
    const run = startItem<ChunkResult>(this.#parts, spec, sent, asked)
    const promise = run.promise.catch((error: unknown) => {
      // A bug must not look like a failure of the model, and after a cancel nobody waits.
      if (!isServiceError(error) || left.signal.aborted) throw error
      this.#log.warn('chunker failed, using the fixed one', {
        model: spec.name,
        error: String(error),
      })
      return this.#chunkFixed(item, left.signal)
    })
    const cancel = (): void => {
      left.abort()
      run.cancel()
    }
    return { promise, cancel }
  }
}

const SEARCHED_CHARS = 256 * 1024

/** Whether a text holds more than white space. The event loop gets a turn between pieces. */
async function hasVisible(text: string): Promise<boolean> {
  for (let from = 0; from < text.length; from += SEARCHED_CHARS) {
    if (/\S/.test(text.slice(from, from + SEARCHED_CHARS))) return true
    await nextTurn()
  }
  return false
}

function bytesOfResult({ chunks }: ChunkResult): number {
  return chunks.length * RANGE_BYTES
}

/** Whether more than white space comes behind the last chunk. */
function hasTextBehind(text: string, chunks: readonly TextRange[]): boolean {
  return text.slice(chunks.at(-1)?.end ?? 0).search(/\S/u) >= 0
}
