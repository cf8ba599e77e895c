// One worker thread as the main thread sees it. It is started by the first call, and again by the
// first call after it died.

import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Log } from '../../../../lib/log.ts'
import { receivedError } from './protocol.ts'
import type {
  AnswerOf,
  FromTextWorker,
  RequestOf,
  SentError,
  TextWorkerCallKind,
  TextWorkerSettings,
} from './protocol.ts'

const ENTRY = new URL('./text-worker.ts', import.meta.url)
/** Searches and the like; indexing has one call for each index. */
export const CALLS_PENDING_MAX = 4096

interface Pending {
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

export class TextWorkerThread {
  readonly #log: Log
  readonly #settings: TextWorkerSettings
  readonly #onBroken = new Map<number, (error: ServiceError) => void>()
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #nextId = 1
  #isClosed = false

  constructor(log: Log, settings: TextWorkerSettings) {
    this.#log = log
    this.#settings = settings
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
    const { index, kind, request, transfer = [] } = sent
    const { promise, resolve, reject } = Promise.withResolvers<AnswerOf<Kind>>()
    const id = this.#nextId++
    this.#pending.set(id, { resolve, reject })
    this.#worker ??= this.#start()
    this.#worker.postMessage({ id, index, kind, request }, transfer)
    return promise
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
    const worker = new Worker(ENTRY, { name: 'text-index', workerData: this.#settings })
    let reason = 'it ended'
    worker.on('message', (message: FromTextWorker<never>) => this.#receive(message))
    worker.on('messageerror', (error) =>
      this.#log.error('text worker spoke', { error: String(error) }),
    )
    worker.on('error', (error) => {
      reason = String(error)
      this.#log.error('text worker failed', {
        error: error instanceof Error ? error.stack : reason,
      })
    })
    worker.on('exit', () => this.#end(worker, reason))
    return worker
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

  #end(worker: Worker, reason: string): void {
    if (this.#worker === worker) this.#worker = undefined
    const error = this.#isClosed
      ? closedError()
      : new ServiceError('UNAVAILABLE', `the text index worker failed (${reason}); try again`)
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of pending) reject(error)
    if (!this.#isClosed) for (const listener of this.#onBroken.values()) listener(error)
  }
}

function closedError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the text indexes are closed')
}
