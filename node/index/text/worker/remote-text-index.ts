import type { Clock } from '../../../../lib/clock.ts'
import type { ServiceError } from '../../../../lib/errors.ts'
import { runInTurn } from '../../../../lib/sliced.ts'
import type {
  Highlights,
  TextHighlightRequest,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from '../search/text-search.ts'
import type { DocumentBatch } from './document-batch.ts'
import { unpackAnswer } from './packed-answer.ts'
import { STOP_REASONS, stoppedError } from './protocol.ts'
import type { AnswerOf, RequestOf, StopFlag, TextWorkerCallKind } from './protocol.ts'
import type { TextWorkerThread } from './text-worker-thread.ts'

/** What a timer can count to. */
const DEADLINE_MAX_MS = 2 ** 31 - 1
/** A reason given spares the error, with its stack, that `abort` would make for each search. */
const DONE = 'the search is done'

export interface SearchLimits {
  readonly signal: AbortSignal
  /** Monotonic time at which nobody wants the answer any more. */
  readonly deadlineMs: number
}

/**
 * A text index in a worker. Calls are carried out in their order. Every method may reject with
 * UNAVAILABLE (the worker died; open it again) or CORRUPTION (reset it).
 */
export class RemoteTextIndex {
  readonly #id: number
  readonly #thread: TextWorkerThread
  readonly #clock: Clock

  constructor(id: number, thread: TextWorkerThread, clock: Clock) {
    this.#id = id
    this.#thread = thread
    this.#clock = clock
  }

  /** Hears of a failure that no call of the owner was answered with. */
  onBroken(listener: (error: ServiceError) => void): void {
    this.#thread.listen(this.#id, listener)
  }

  open(request: RequestOf<'open'>): Promise<AnswerOf<'open'>> {
    return this.#call('open', request)
  }

  async reset(request: RequestOf<'reset'>): Promise<void> {
    await this.#call('reset', request)
  }

  async setSchema(schema: RequestOf<'setSchema'>['schema']): Promise<void> {
    await this.#call('setSchema', { schema })
  }

  async learn(fields: RequestOf<'learn'>['fields']): Promise<void> {
    await this.#call('learn', { fields })
  }

  /** The batch's buffers are gone afterwards. */
  apply(batch: DocumentBatch): Promise<AnswerOf<'apply'>> {
    const transfer = [batch.bytes.buffer, batch.entries.buffer]
    return this.#thread.call({ index: this.#id, kind: 'apply', request: { batch }, transfer })
  }

  flush(sequence: number): Promise<AnswerOf<'flush'>> {
    return this.#call('flush', { sequence })
  }

  /** Rejects with CANCELLED or DEADLINE_EXCEEDED as soon as a limit is met; the worker follows. */
  async search(search: TextSearchRequest, limits: SearchLimits): Promise<TextSearchAnswer> {
    const answer = await this.#within(limits, (stop) => this.#call('search', { search, stop }))
    const { signal } = limits
    return runInTurn(unpackAnswer(answer), { clock: this.#clock, signal })
  }

  /** Limited as `search` is. */
  statistics(statistics: TextStatisticsRequest, limits: SearchLimits): Promise<TextStatistics> {
    return this.#within(limits, (stop) => this.#call('statistics', { statistics, stop }))
  }

  /** Limited as `search` is. */
  highlight(
    highlight: TextHighlightRequest,
    limits: SearchLimits,
  ): Promise<readonly (Highlights | undefined)[]> {
    return this.#within(limits, (stop) => this.#call('highlight', { highlight, stop }))
  }

  stats(): Promise<AnswerOf<'stats'>> {
    return this.#call('stats', undefined)
  }

  async close(): Promise<void> {
    this.#thread.forget(this.#id)
    await this.#call('close', undefined)
  }

  async destroy(request: RequestOf<'destroy'>): Promise<void> {
    this.#thread.forget(this.#id)
    await this.#call('destroy', request)
  }

  async #within<Answer>(
    { signal, deadlineMs }: SearchLimits,
    ask: (stop: StopFlag) => Promise<Answer>,
  ): Promise<Answer> {
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const { promise: stopped, reject } = Promise.withResolvers<never>()
    const end = (reason: number): void => {
      Atomics.store(stop, 0, reason)
      reject(stoppedError(reason))
    }
    const onAbort = (): void => end(STOP_REASONS.cancelled)
    const leftMs = deadlineMs - this.#clock.monotonicMs()
    if (signal.aborted) throw stoppedError(STOP_REASONS.cancelled)
    if (leftMs <= 0) throw stoppedError(STOP_REASONS.deadline)
    const done = new AbortController()
    signal.addEventListener('abort', onAbort, { once: true })
    void this.#clock.sleep(Math.min(leftMs, DEADLINE_MAX_MS), done.signal).then(
      () => end(STOP_REASONS.deadline),
      () => undefined, // done before the deadline
    )
    try {
      return await Promise.race([ask(stop), stopped])
    } finally {
      done.abort(DONE)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #call<Kind extends TextWorkerCallKind>(
    kind: Kind,
    request: RequestOf<Kind>,
  ): Promise<AnswerOf<Kind>> {
    return this.#thread.call({ index: this.#id, kind, request })
  }
}
