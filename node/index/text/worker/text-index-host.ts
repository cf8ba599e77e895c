// The indexes of one worker. An index that failed while it was changed answers everything with that
// failure until it is opened anew or reset: what it has in memory can no longer be trusted.

import { unreachable } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { ServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import { gatherTextStatistics, runTextSearch } from '../search/run-text-search.ts'
import { HeldTextIndex } from './held-text-index.ts'
import { STOP_REASONS, stoppedError } from './protocol.ts'
import type { RequestOf, SentError, StopFlag, ToTextWorker } from './protocol.ts'

const CODE_BY_SYSTEM_ERROR: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EIO: 'CORRUPTION',
}

export class TextIndexHost {
  readonly #clock: Clock
  readonly #onBroken: (index: number, error: SentError) => void
  readonly #indexes = new Map<number, HeldTextIndex>()
  readonly #broken = new Map<number, ServiceError>()

  constructor(clock: Clock, onBroken: (index: number, error: SentError) => void) {
    this.#clock = clock
    this.#onBroken = onBroken
  }

  /** The answer to the call; throws a ServiceError alone. */
  handle(message: ToTextWorker): unknown {
    const { index: id, kind } = message
    try {
      return this.#handle(message)
    } catch (error) {
      const failure = serviceErrorOf(error)
      const isHarmless = kind === 'search' || kind === 'statistics' || kind === 'stats'
      if (!isHarmless || failure.code === 'CORRUPTION') this.#break(id, failure)
      throw failure
    }
  }

  /** Flushes and merges for about `budgetMs` in each index; answers whether there is more to do. */
  maintain(budgetMs: number): boolean {
    let isMore = false
    for (const [id, { index }] of this.#indexes) {
      try {
        if (index.maintain(budgetMs)) isMore = true
      } catch (error) {
        this.#break(id, serviceErrorOf(error))
      }
    }
    return isMore
  }

  #handle(message: ToTextWorker): unknown {
    const { index: id, kind, request } = message
    switch (kind) {
      case 'open':
        return this.#open(id, request)
      case 'reset':
        return this.#reset(id, request)
      case 'setSchema':
        return this.#held(id).setSchema(request.schema)
      case 'apply':
        this.#held(id).apply(request.batch)
        return { checkpoint: this.#held(id).index.checkpoint }
      case 'flush':
        this.#held(id).flush(request.sequence)
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

  #open(id: number, request: RequestOf<'open'>): unknown {
    this.#close(id)
    const held = HeldTextIndex.open(request, this.#clock)
    this.#indexes.set(id, held)
    return { checkpoint: held.index.checkpoint, documents: held.index.stats().documents }
  }

  #reset(id: number, { directory, schema }: RequestOf<'reset'>): undefined {
    this.#close(id)
    HeldTextIndex.remove(directory)
    const source = { kind: 'given', schema } as const
    this.#indexes.set(id, HeldTextIndex.open({ directory, source }, this.#clock))
  }

  #search(id: number, { search, stop }: RequestOf<'search'>): unknown {
    const interrupt = (): void => throwIfStopped(stop)
    interrupt() // it may have waited long for its turn
    return runTextSearch(this.#held(id), search, interrupt)
  }

  #close(id: number): undefined {
    this.#indexes.get(id)?.index.close()
    this.#indexes.delete(id)
    this.#broken.delete(id)
  }

  #break(id: number, error: ServiceError): void {
    if (this.#broken.has(id)) return
    this.#close(id)
    this.#broken.set(id, error)
    this.#onBroken(id, { code: error.code, message: error.message })
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
