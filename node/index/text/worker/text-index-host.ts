// The indexes of one worker. An index that failed while it was changed answers everything with that
// failure until it is opened anew or reset: what it has in memory can no longer be trusted.

import { unreachable } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { ServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import type { TextMemory } from '../engine/text-memory.ts'
import { gatherTextStatistics, runTextSearch } from '../search/run-text-search.ts'
import { HeldTextIndex } from './held-text-index.ts'
import { STOP_REASONS, stoppedError } from './protocol.ts'
import type {
  RequestOf,
  SentError,
  StopFlag,
  TextWorkerCallKind,
  ToTextWorker,
} from './protocol.ts'

const CODE_BY_SYSTEM_ERROR: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EIO: 'CORRUPTION',
}

/** Questions are answered at once, whatever else is under way; they change nothing. */
export function isQuestion(kind: TextWorkerCallKind): boolean {
  return kind === 'search' || kind === 'statistics' || kind === 'stats'
}

export interface TextIndexHostOptions {
  readonly clock: Clock
  readonly memory: TextMemory
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
  *handle(message: ToTextWorker): Generator<void, unknown> {
    const { index: id, kind } = message
    try {
      return yield* this.#handle(message)
    } catch (error) {
      const failure = serviceErrorOf(error)
      if (!isQuestion(kind) || failure.code === 'CORRUPTION') this.#break(id, failure)
      throw failure
    }
  }

  /** Flushes and merges for about `budgetMs`, in one index; answers whether there is more to do. */
  maintain(budgetMs: number): boolean {
    const [id] = this.#unsettled
    if (id === undefined) return false
    this.#unsettled.delete(id)
    try {
      if (this.#indexes.get(id)?.index.maintain(budgetMs) === true) this.#unsettled.add(id)
    } catch (error) {
      this.#break(id, serviceErrorOf(error))
    }
    return this.#unsettled.size > 0
  }

  *#handle(message: ToTextWorker): Generator<void, unknown> {
    const { index: id, kind, request } = message
    if (!isQuestion(kind)) this.#unsettled.add(id)
    switch (kind) {
      case 'open':
        return this.#open(id, request)
      case 'reset':
        return this.#reset(id, request)
      case 'setSchema':
        return this.#held(id).setSchema(request.schema)
      case 'apply':
        return yield* this.#apply(id, request)
      case 'flush':
        yield* this.#held(id).flushInSteps(request.sequence)
        return { checkpoint: this.#held(id).index.checkpoint }
      case 'search':
        return this.#search(id, request)
      case 'statistics':
        return gatherTextStatistics(this.#held(id), request.statistics)
      case 'stats':
        return this.#held(id).index.stats()
      case 'close':
        return this.#close(id)
      case 'destroy':
        this.#close(id)
        return HeldTextIndex.remove(request.directory)
      default:
        return unreachable(kind)
    }
  }

  *#apply(id: number, { batch }: RequestOf<'apply'>): Generator<void, unknown> {
    const held = this.#held(id)
    for (const _ of held.applyInSteps(batch)) {
      yield
      yield* this.#makeRoom()
    }
    return { checkpoint: held.index.checkpoint }
  }

  /** Keeps the memory segments of all indexes within their bound: the largest are flushed. */
  *#makeRoom(): Generator<void, void> {
    while (this.#unflushedBytes() > this.#with.memory.segmentBytesMax) {
      const [largest] = [...this.#indexes].toSorted(
        ([, a], [, b]) => b.index.unflushedBytes - a.index.unflushedBytes,
      )
      if (largest === undefined) return
      const [id, { index }] = largest
      try {
        index.beginFlush()
        for (; index.isFlushing; yield) index.maintain(0)
      } catch (error) {
        this.#break(id, serviceErrorOf(error))
      }
    }
  }

  #unflushedBytes(): number {
    let bytes = 0
    for (const { index } of this.#indexes.values()) bytes += index.unflushedBytes
    return bytes
  }

  #open(id: number, request: RequestOf<'open'>): unknown {
    this.#close(id)
    const held = HeldTextIndex.open(request, this.#with)
    this.#indexes.set(id, held)
    return { checkpoint: held.index.checkpoint, documents: held.index.stats().documents }
  }

  #reset(id: number, { directory, schema }: RequestOf<'reset'>): undefined {
    this.#close(id)
    HeldTextIndex.remove(directory)
    const source = { kind: 'given', schema } as const
    this.#indexes.set(id, HeldTextIndex.open({ directory, source }, this.#with))
  }

  #search(id: number, { search, stop }: RequestOf<'search'>): unknown {
    const interrupt = (): void => throwIfStopped(stop)
    interrupt() // it may have waited long for its turn
    return runTextSearch(this.#held(id), search, interrupt)
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
