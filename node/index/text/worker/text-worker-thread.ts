// One worker thread as the main thread sees it. It is started by the first call, and again by the
// first call after it died.

import { Worker } from 'node:worker_threads'
import type { Clock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Log } from '../../../../lib/log.ts'
import { watchForHang } from './hang-watch.ts'
import { LostSearches } from './lost-searches.ts'
import { receivedError, WorkerLostError } from './protocol.ts'
import type {
  AnswerOf,
  FromTextWorker,
  RequestOf,
  SentError,
  TextWorkerCallKind,
  TextWorkerSettings,
} from './protocol.ts'

import { newProgressMemory, seenProgress, type SeenProgress } from './worker-progress.ts'
import { emptyWorkerReport, type WorkerReport } from './worker-report.ts'

const ENTRY = new URL('./text-worker.ts', import.meta.url)
/** Searches and the like; indexing has one call for each index. */
const CALLS_PENDING_MAX = 4096

interface Pending {
  readonly sent: SentCall<TextWorkerCallKind>
  /** The answer has the type of the call with this id. */
  readonly resolve: (answer: never) => void
  readonly reject: (error: ServiceError) => void
}

export interface SentCall<Kind extends TextWorkerCallKind> {
  readonly index: number
  readonly kind: Kind
  readonly request: RequestOf<Kind>
  /** Buffers that change hands. */
  readonly transfer?: readonly ArrayBuffer[]
}

export interface TextWorkerThreadOptions {
  readonly clock: Clock
  readonly log: Log
  readonly settings: Omit<TextWorkerSettings, 'progress'>
  /** A worker that makes no progress for longer is ended and started again. */
  readonly hangMs: number
  /** Default: the product's own. */
  readonly entry?: URL | undefined
  /** For the log. */
  nameOf(index: number): string
}

export class TextWorkerThread {
  readonly #with: TextWorkerThreadOptions
  readonly #lost = new LostSearches()
  readonly #onBroken = new Map<number, (error: ServiceError) => void>()
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #nextId = 1
  #restarts = 0
  #isClosed = false

  constructor(options: TextWorkerThreadOptions) {
    this.#with = options
  }

  /** Calls that the worker has not answered. */
  get pendingCalls(): number {
    return this.#pending.size
  }

  /** How often it ended although nobody wanted it to. */
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

  call<Kind extends TextWorkerCallKind>(sent: SentCall<Kind>): Promise<AnswerOf<Kind>> {
    if (this.#isClosed) return Promise.reject(closedError())
    if (this.#pending.size >= CALLS_PENDING_MAX) {
      const message = 'too many searches are waiting for the text indexes; try again later'
      return Promise.reject(new ServiceError('OVERLOADED', message))
    }
    if (this.#lost.isRefused(sent)) return Promise.reject(refusedError())
    const { index, kind, request, transfer = [] } = sent
    const { promise, resolve, reject } = Promise.withResolvers<AnswerOf<Kind>>()
    const id = this.#nextId++
    this.#pending.set(id, { sent, resolve, reject })
    this.#worker ??= this.#start()
    this.#worker.postMessage({ id, index, kind, request }, transfer)
    return promise
  }

  /** Nothing before the thread is started. */
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

  #start(): Worker {
    const { clock, log, settings, hangMs, entry = ENTRY } = this.#with
    const progress = newProgressMemory()
    const workerData: TextWorkerSettings = { ...settings, progress }
    const worker = new Worker(entry, { name: 'text-index', workerData })
    let reason = 'it ended'
    const onHang = (seen: SeenProgress): void => {
      reason = `it made no progress for ${hangMs} ms`
      log.error('text worker hangs', this.#fieldsOf(seen))
      void worker.terminate()
    }
    const stopWatch = watchForHang({ clock, hangMs, progress, onHang })
    worker.on('message', (message: FromTextWorker<never>) => this.#receive(message))
    worker.on('messageerror', (error) => log.error('text worker spoke', { error: String(error) }))
    worker.on('error', (error) => {
      reason = String(error)
      const told = error instanceof Error ? error.stack : reason
      log.error('text worker failed', { ...this.#fieldsOf(seenProgress(progress)), error: told })
    })
    worker.on('exit', () => {
      stopWatch()
      this.#end(worker, reason, seenProgress(progress))
    })
    return worker
  }

  #fieldsOf({ index, operation, document }: SeenProgress) {
    return {
      index: this.#with.nameOf(index),
      operation,
      ...(document !== undefined && { document }),
    }
  }

  #receive(message: FromTextWorker<never>): void {
    if (message.kind === 'broken') {
      this.#break(message.index, message.error)
      return
    }
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if (message.kind === 'answer') pending?.resolve(message.answer)
    else pending?.reject(receivedError(message.error))
  }

  #break(index: number, error: SentError): void {
    this.#onBroken.get(index)?.(receivedError(error))
  }

  /** The call that was under way is told apart: it may be why the worker ended. */
  #end(worker: Worker, reason: string, seen: SeenProgress): void {
    if (this.#worker === worker) this.#worker = undefined
    if (!this.#isClosed) this.#restarts += 1
    const message = `the text index worker failed (${reason}); try again`
    const error = this.#isClosed ? closedError() : new ServiceError('UNAVAILABLE', message)
    const pending = [...this.#pending]
    this.#pending.clear()
    for (const [id, { sent, reject }] of pending) {
      const isSuspect = !this.#isClosed && seen.operation !== 'idle' && id === seen.call
      if (isSuspect) this.#suspect(sent)
      reject(isSuspect ? new WorkerLostError(message, seen.document) : error)
    }
    if (!this.#isClosed) for (const listener of this.#onBroken.values()) listener(error)
  }

  #suspect(sent: SentCall<TextWorkerCallKind>): void {
    const query = this.#lost.lose(sent)
    if (query === undefined) return
    this.#with.log.error('search is set aside', { index: this.#with.nameOf(sent.index), query })
  }
}

function refusedError(): ServiceError {
  const message = 'this search ended the text index worker twice and is refused; change it'
  return new ServiceError('INVALID_ARGUMENT', message)
}

function closedError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the text indexes are closed')
}
