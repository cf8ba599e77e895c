// The indexes of one worker. An index that failed while it was changed answers everything with that
// failure until it is opened anew or reset: what it has in memory can no longer be trusted.

import { unreachable } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { ServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { TextMemory } from '../engine/text-memory.ts'
import { highlightTexts } from '../highlight/highlighter.ts'
import { gatherTextStatistics, runTextSearch } from '../search/run-text-search.ts'
import type { TextSearchRequest } from '../search/text-search.ts'
import { HeldTextIndex } from './held-text-index.ts'
import { packAnswer, type PackedAnswer } from './packed-answer.ts'
import { STOP_REASONS, stoppedError } from './protocol.ts'
import type { RequestOf, SentError, StopFlag, TextWorkerCallKind, ToTextIndex } from './protocol.ts'

const CODE_BY_SYSTEM_ERROR: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EIO: 'CORRUPTION',
}

const QUESTIONS: ReadonlySet<TextWorkerCallKind> = new Set([
  'search',
  'statistics',
  'highlight',
  'stats',
  'learn',
])

/**
 * Questions are answered at once, whatever else is under way; they change nothing. Fields are learnt
 * like that, too: they add to what the index may meet, and searches want to know of them.
 */
export function isQuestion(kind: TextWorkerCallKind): boolean {
  return QUESTIONS.has(kind)
}

type StoppableQuestion = Extract<ToTextIndex, { readonly request: { readonly stop: StopFlag } }>

function isStoppable(message: ToTextIndex): message is StoppableQuestion {
  const { kind } = message
  return kind === 'search' || kind === 'statistics' || kind === 'highlight'
}

export interface TextIndexHostOptions {
  readonly clock: Clock
  readonly memory: TextMemory
  /** Hears what is being worked on. */
  readonly progress?: {
    onIndex(index: number): void
    onDocument(number: number | undefined): void
  }
  onBroken(index: number, error: SentError): void
}

export class TextIndexHost {
  readonly #with: TextIndexHostOptions
  readonly #indexes = new Map<number, HeldTextIndex>()
  readonly #broken = new Map<number, ServiceError>()
  /** The indexes that may have something to flush or merge, the next one first. */
  readonly #unsettled = new Set<number>()

  constructor(options: TextIndexHostOptions) {
    this.#with = options
  }

  /**
   * Carries out a call in steps of a millisecond or so and returns its answer; throws a
   * ServiceError alone. Between the steps questions may be answered.
   */
  *handle(message: ToTextIndex): Sliced<unknown> {
    const { index: id, kind } = message
    const changes = !isQuestion(kind)
    try {
      return yield* this.#handle(message)
    } catch (error) {
      const failure = serviceErrorOf(error)
      if (changes || failure.code === 'CORRUPTION') this.#break(id, failure)
      throw failure
    } finally {
      if (changes) this.#unsettled.add(id)
    }
  }

  get isSettled(): boolean {
    return this.#unsettled.size === 0
  }

  /** Flushes and merges what there is to flush and merge, each index a step in its turn. */
  *maintainInSteps(): Sliced<void> {
    for (let [id] = this.#unsettled; id !== undefined; [id] = this.#unsettled) {
      this.#unsettled.delete(id)
      this.#with.progress?.onIndex(id)
      try {
        if (this.#indexes.get(id)?.index.maintain(0) === true) this.#unsettled.add(id)
      } catch (error) {
        this.#break(id, serviceErrorOf(error))
      }
      yield
    }
  }

  *#handle(message: ToTextIndex): Sliced<unknown> {
    if (isStoppable(message)) {
      return yield* unlessStopped(this.#answer(message), message.request.stop)
    }
    const { index: id, kind, request } = message
    switch (kind) {
      case 'open':
        return yield* this.#open(id, request)
      case 'reset':
        return yield* this.#reset(id, request)
      case 'setSchema':
        return yield* this.#held(id).setSchemaInSteps(request.schema)
      case 'apply':
        return yield* this.#apply(id, request)
      case 'flush':
        yield* this.#held(id).flushInSteps(request.sequence)
        return { checkpoint: this.#held(id).index.checkpoint }
      case 'stats':
        return this.#held(id).report()
      case 'learn':
        return yield* this.#held(id).learnInSteps(request.fields)
      case 'close':
        return this.#close(id)
      case 'destroy':
        this.#close(id)
        return HeldTextIndex.remove(request.directory)
      default:
        return unreachable(kind)
    }
  }

  #answer({ index: id, kind, request }: StoppableQuestion): Sliced<unknown> {
    const held = this.#held(id)
    switch (kind) {
      case 'search':
        return packedSearch(held, request.search)
      case 'statistics':
        return gatherTextStatistics(held, request.statistics)
      case 'highlight':
        return highlightTexts(request.highlight, {
          schema: held.schema,
          analysis: held.mapping.analysis,
          fields: held.mapping.fields,
        })
      default:
        return unreachable(kind)
    }
  }

  *#apply(id: number, { batch }: RequestOf<'apply'>): Sliced<unknown> {
    const held = this.#held(id)
    const { progress } = this.#with
    const work = held.applyInSteps(batch, (number) => progress?.onDocument(number))
    for (;;) {
      const step = work.next()
      if (step.done === true) return { ...step.value, checkpoint: held.index.checkpoint }
      yield
      // Else it might wait for a flush that waits for the document.
      if (!held.index.isAdding) yield* this.#makeRoom()
    }
  }

  /** Keeps the memory segments of all indexes within their bound: the largest are flushed. */
  *#makeRoom(): Sliced<void> {
    while (this.#unflushedBytes() > this.#with.memory.segmentBytesMax) {
      const [largest] = [...this.#indexes].toSorted(
        ([, a], [, b]) => b.index.unflushedBytes - a.index.unflushedBytes,
      )
      if (largest === undefined) return
      const [id, { index }] = largest
      try {
        // It begins later if a document is just being added: that is another task's work.
        index.beginFlush()
        if (index.isFlushing) index.maintain(0)
      } catch (error) {
        this.#break(id, serviceErrorOf(error))
      }
      yield
    }
  }

  #unflushedBytes(): number {
    let bytes = 0
    for (const { index } of this.#indexes.values()) bytes += index.unflushedBytes
    return bytes
  }

  *#open(id: number, request: RequestOf<'open'>): Sliced<unknown> {
    this.#close(id)
    const outdated = HeldTextIndex.outdated(request)
    if (outdated !== undefined) return { checkpoint: 0, documents: 0, outdated }
    const held = yield* HeldTextIndex.openInSteps(request, this.#with)
    this.#indexes.set(id, held)
    const { documents } = held.index.stats()
    return { checkpoint: held.index.checkpoint, documents, outdated: undefined }
  }

  *#reset(id: number, { directory, schema, fields }: RequestOf<'reset'>): Sliced<undefined> {
    this.#close(id)
    HeldTextIndex.remove(directory)
    const request = { directory, source: { kind: 'given', schema }, fields } as const
    this.#indexes.set(id, yield* HeldTextIndex.openInSteps(request, this.#with))
  }

  #close(id: number): undefined {
    this.#indexes.get(id)?.index.close()
    this.#indexes.delete(id)
    this.#unsettled.delete(id)
    this.#broken.delete(id)
  }

  #break(id: number, error: ServiceError): void {
    if (this.#broken.has(id)) return
    this.#close(id)
    this.#broken.set(id, error)
    this.#with.onBroken(id, { code: error.code, message: error.message })
  }

  #held(id: number): HeldTextIndex {
    const held = this.#indexes.get(id)
    if (held !== undefined) return held
    throw this.#broken.get(id) ?? new ServiceError('UNAVAILABLE', 'the text index is not open')
  }
}

/** Looks at the flag before each step: even the first may have waited long for its turn. */
function* unlessStopped<Answer>(work: Sliced<Answer>, stop: StopFlag): Sliced<Answer> {
  try {
    for (;;) {
      throwIfStopped(stop)
      const step = work.next()
      if (step.done === true) return step.value
      yield
    }
  } finally {
    // For a search that is stopped: it gives back what it holds.
    leave(work)
  }
}

function leave(work: Sliced<unknown>): void {
  work.return(undefined)
}

function throwIfStopped(stop: StopFlag): void {
  const reason = Atomics.load(stop, 0)
  if (reason !== STOP_REASONS.none) throw stoppedError(reason)
}

function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (!(error instanceof Error)) return new ServiceError('INTERNAL', String(error))
  const system = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const code = CODE_BY_SYSTEM_ERROR[system] ?? 'INTERNAL'
  return new ServiceError(code, error.message, { cause: error })
}

function* packedSearch(held: HeldTextIndex, request: TextSearchRequest): Sliced<PackedAnswer> {
  return yield* packAnswer(yield* runTextSearch(held, request))
}
