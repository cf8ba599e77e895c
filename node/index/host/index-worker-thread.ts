// One worker thread as the main thread sees it. It is started by the first call, and again by the
// first call after it died.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { receivedError, WorkerCalls } from '../../../lib/worker-calls.ts'
import { watchForHang } from './worker-hang-watch.ts'
import type { LostQuestions, Identity } from './lost-questions.ts'
import { WorkerLostError } from './protocol.ts'
import type {
  AnswerOf,
  FromIndexWorker,
  IndexWorkerCallKind,
  IndexWorkerSettings,
  RequestOf,
  ToldWorker,
} from './protocol.ts'
import type { StartedWorker, StartWorker } from './started-worker.ts'
import {
  newProgressMemory,
  NO_CALL,
  seenProgress,
  type ProgressMemory,
  type SeenProgress,
} from './worker-progress.ts'
import { emptyWorkerReport, type WorkerReport } from './worker-report.ts'

/** Searches and the like; indexing has one call for each index. */
const CALLS_PENDING_MAX = 4096

/** A call on its way to one index of the worker. */
export interface SentCall<Kind extends IndexWorkerCallKind> {
  readonly index: number
  readonly kind: Kind
  readonly request: RequestOf<Kind>
  /** Buffers that change hands. */
  readonly transfer?: readonly ArrayBuffer[]
  /** What identifies a question. It is called only after a worker has ended at some question. */
  readonly identity?: () => Identity
}

/** What a worker is started with, each time. */
export interface IndexWorkerThreadOptions {
  readonly clock: Clock
  readonly log: Log
  readonly settings: Omit<IndexWorkerSettings, 'progress'>
  /** A worker that makes no progress for longer is ended and started again. */
  readonly hangMs: number
  readonly startWorker: StartWorker
  /** The lost questions of all threads: the question that ended one may be asked of another. */
  readonly lost: LostQuestions
  /** For the log. */
  nameOf(index: number): string
}

/**
 * Keeps one worker running: starts it at the first call, ends it when it hangs, and rejects the
 * calls that it took along.
 */
export class IndexWorkerThread {
  readonly #with: IndexWorkerThreadOptions
  readonly #calls = new WorkerCalls<SentCall<IndexWorkerCallKind>>()
  readonly #onBroken = new Map<number, (error: ServiceError) => void>()
  #worker: StartedWorker | undefined
  #progress: ProgressMemory | undefined
  #isReady = false
  #starts = 0
  #restarts = 0
  #isClosed = false

  constructor(options: IndexWorkerThreadOptions) {
    this.#with = options
  }

  /** Calls that the worker has not answered. */
  get pendingCalls(): number {
    return this.#calls.size
  }

  /** Calls that wait, or what the worker does without a call. 0: the next call has the worker for itself. */
  get load(): number {
    const { size } = this.#calls
    if (size > 0 || this.#progress === undefined) return size
    const { operation, call } = seenProgress(this.#progress)
    // An answer leaves before its slice ends: the worker may still show a call that is over.
    return operation === 'idle' || call !== NO_CALL ? 0 : 1
  }

  /** Whether the worker runs and has answered before: a call need not wait for its start. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** How often it was started. Whatever the worker was told is lost when this changes. */
  get starts(): number {
    return this.#starts
  }

  /** How often the thread ended without being asked to. */
  get restarts(): number {
    return this.#restarts
  }

  /** `listener` hears that the index failed, or that the thread died with it. */
  listen(index: number, listener: (error: ServiceError) => void): void {
    this.#onBroken.set(index, listener)
  }

  forget(index: number): void {
    this.#onBroken.delete(index)
  }

  /** The answer is of the type that the kind of index gives it. */
  call<Kind extends IndexWorkerCallKind, Answer = AnswerOf<Kind>>(
    sent: SentCall<Kind>,
  ): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(closedError())
    if (this.#calls.size >= CALLS_PENDING_MAX) {
      const message = 'too many searches are waiting for the indexes; try again later'
      return Promise.reject(new ServiceError('OVERLOADED', message))
    }
    if (!this.#with.lost.isEmpty && this.#with.lost.isRefused(sent.identity?.())) {
      return Promise.reject(refusedError())
    }
    const { index, kind, request, transfer = [] } = sent
    const worker = (this.#worker ??= this.#start())
    const send = (id: number): void => worker.post({ id, index, kind, request }, transfer)
    return this.#calls.call<Answer>(sent, send)
  }

  /** What a worker that does not run is told is lost. */
  tell(message: ToldWorker): void {
    this.#worker?.post(message, [])
  }

  /** For calls that come later. */
  start(): void {
    if (this.#worker !== undefined || this.#isClosed) return
    const sent = { index: -1, kind: 'report', request: undefined } as const
    // If the worker ends at its start, the log says why, and the next call tries again.
    this.call(sent).catch(() => undefined)
  }

  /** Undefined before the thread is started. */
  async report(): Promise<WorkerReport> {
    if (this.#worker === undefined) return emptyWorkerReport()
    return this.call({ index: -1, kind: 'report', request: undefined })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.terminate()
  }

  /** For tests: ends the thread as a failure would. */
  async kill(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): StartedWorker {
    const { clock, log, settings, hangMs, startWorker } = this.#with
    const progress = newProgressMemory()
    this.#progress = progress
    this.#starts += 1
    let reason = 'it ended'
    const worker = startWorker(
      { ...settings, progress },
      {
        onMessage: (message) => this.#receive(message),
        onMessageError: (error) => log.error('index worker spoke', { error: String(error) }),
        onError: (error) => {
          reason = String(error)
          const told = error instanceof Error ? error.stack : reason
          log.error('index worker failed', {
            ...this.#fieldsOf(seenProgress(progress)),
            error: told,
          })
        },
        onExit: () => {
          stopWatch()
          this.#end(worker, reason, seenProgress(progress))
        },
      },
    )
    const onHang = (seen: SeenProgress): void => {
      reason = `it made no progress for ${hangMs} ms`
      log.error('index worker hangs', this.#fieldsOf(seen))
      void worker.terminate()
    }
    const stopWatch = watchForHang({ clock, hangMs, progress, onHang })
    return worker
  }

  #fieldsOf({ index, operation, document }: SeenProgress) {
    return {
      index: this.#with.nameOf(index),
      operation,
      ...(document !== undefined && { document }),
    }
  }

  #receive(message: FromIndexWorker<never>): void {
    this.#isReady = true
    if (message.kind === 'broken') {
      this.#onBroken.get(message.index)?.(receivedError(message.error))
      return
    }
    if (message.kind === 'answer') this.#calls.answer(message.id, message.answer)
    else this.#calls.refuse(message.id, receivedError(message.error))
  }

  /** Tells apart the call that was under way, because it may be why the worker ended. */
  #end(worker: StartedWorker, reason: string, seen: SeenProgress): void {
    if (this.#worker === worker) {
      this.#worker = undefined
      this.#progress = undefined
      this.#isReady = false
    }
    if (!this.#isClosed) this.#restarts += 1
    const message = `the index worker failed (${reason}); try again`
    const error = this.#isClosed ? closedError() : new ServiceError('UNAVAILABLE', message)
    this.#calls.lose((sent, id) => {
      const isSuspect = !this.#isClosed && seen.operation !== 'idle' && id === seen.call
      if (!isSuspect) return error
      this.#suspect(sent)
      return new WorkerLostError(message, seen.document)
    })
    if (!this.#isClosed) for (const listener of this.#onBroken.values()) listener(error)
  }

  #suspect(sent: SentCall<IndexWorkerCallKind>): void {
    const query = this.#with.lost.lose(sent.identity?.())
    if (query === undefined) return
    this.#with.log.error('search is set aside', { index: this.#with.nameOf(sent.index), query })
  }
}

function refusedError(): ServiceError {
  const message = 'this search ended the index worker twice and is refused; change it'
  return new ServiceError('INVALID_ARGUMENT', message)
}

function closedError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the indexes are closed')
}
