import type { Clock } from '../../../lib/clock.ts'
import type { ServiceError } from '../../../lib/errors.ts'
import type { DocumentBatch } from './document-batch.ts'
import type { AskedQuestion } from './index-engine.ts'
import type { IndexKind } from './index-kind.ts'
import type { IndexWorkerThread } from './index-worker-thread.ts'
import { QuestionRoute } from './question-route.ts'
import { STOP_REASONS, stoppedError } from './protocol.ts'
import type { AnswerOf, IndexWorkerCallKind, RequestOf, StopFlag } from './protocol.ts'

/** The longest delay of a timer in milliseconds. */
const DEADLINE_MAX_MS = 2 ** 31 - 1

/** The limits of one question. The first limit that is met ends it. */
export interface SearchLimits {
  readonly signal: AbortSignal
  /** The monotonic time in milliseconds at which the question is given up. */
  readonly deadlineMs: number
}

/** The index that a client calls, and its thread. */
export interface IndexClientOptions {
  readonly id: number
  readonly thread: IndexWorkerThread
  /** Those that may answer parts of questions while `thread` is busy. */
  readonly others: readonly IndexWorkerThread[]
  readonly clock: Clock
  readonly kind: IndexKind
  /** By which workers know the kind. */
  readonly kindName: string
}

/**
 * An index in a worker. Changes are carried out in their order, questions at once. Every method may
 * reject with UNAVAILABLE (the worker died; open it again) or CORRUPTION (reset it).
 */
export class IndexClient {
  readonly #id: number
  readonly #thread: IndexWorkerThread
  readonly #clock: Clock
  readonly #route: QuestionRoute

  constructor({ id, thread, ...options }: IndexClientOptions) {
    this.#id = id
    this.#thread = thread
    this.#clock = options.clock
    this.#route = new QuestionRoute({ ...options, index: id, home: thread })
  }

  /** Hears of a failure that no call of the owner was answered with. */
  onBroken(listener: (error: ServiceError) => void): void {
    this.#thread.listen(this.#id, listener)
  }

  open(request: RequestOf<'open'>): Promise<AnswerOf<'open'>> {
    this.#route.forget()
    return this.#call('open', request)
  }

  async reset(request: RequestOf<'reset'>): Promise<void> {
    this.#route.forget()
    await this.#call('reset', request)
  }

  async setSchema(schema: RequestOf<'setSchema'>['schema']): Promise<void> {
    await this.#route.change(this.#call('setSchema', { schema }))
  }

  async learn(fields: RequestOf<'learn'>['fields']): Promise<void> {
    await this.#route.change(this.#call('learn', { fields }))
  }

  /** The batch's buffers are gone afterwards. */
  apply(batch: DocumentBatch): Promise<AnswerOf<'apply'>> {
    const transfer = [batch.bytes.buffer, batch.entries.buffer]
    const sent = { index: this.#id, kind: 'apply', request: { batch }, transfer } as const
    return this.#route.change(this.#thread.call(sent))
  }

  flush(sequence: number): Promise<AnswerOf<'flush'>> {
    return this.#call('flush', { sequence })
  }

  /**
   * Rejects with CANCELLED or DEADLINE_EXCEEDED as soon as a limit is met; the worker follows. The
   * answer is of the type that the kind gives to the question.
   */
  ask<Answer>(asked: AskedQuestion, limits: SearchLimits): Promise<Answer> {
    return this.#within(limits, (stop) => this.#route.ask<Answer>(asked, stop))
  }

  /** Links the files of the last checkpoint into an empty directory on the same disk. */
  snapshot(directory: string): Promise<AnswerOf<'snapshot'>> {
    return this.#call('snapshot', { directory })
  }

  stats(): Promise<AnswerOf<'stats'>> {
    return this.#call('stats', undefined)
  }

  async close(): Promise<void> {
    this.#route.forget()
    this.#thread.forget(this.#id)
    await this.#call('close', undefined)
  }

  async destroy(request: RequestOf<'destroy'>): Promise<void> {
    this.#route.forget()
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
    signal.addEventListener('abort', onAbort, { once: true })
    const stopTimer = this.#clock.after(Math.min(leftMs, DEADLINE_MAX_MS), () =>
      end(STOP_REASONS.deadline),
    )
    try {
      return await Promise.race([ask(stop), stopped])
    } finally {
      stopTimer()
      signal.removeEventListener('abort', onAbort)
    }
  }

  #call<Kind extends IndexWorkerCallKind>(
    kind: Kind,
    request: RequestOf<Kind>,
  ): Promise<AnswerOf<Kind>> {
    return this.#thread.call({ index: this.#id, kind, request })
  }
}
