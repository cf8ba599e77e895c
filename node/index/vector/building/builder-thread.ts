// Makes graphs in a thread of its own: a graph is loaded and saved in one native call, which takes as long as its
// bytes, and adding a row takes as long as several searches.

import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../../../lib/errors.ts'
import { newAnsweringFlag, type AnsweringFlag } from '../../host/answering-flag.ts'
import { receivedError, type SentError } from '../../../../lib/worker-calls.ts'
import type { BuiltGraph, GraphBuilder, GraphBuilding, GraphJob } from './graph-job.ts'

/** What a thread is started with. */
export interface BuilderData {
  readonly answering: AnsweringFlag
}

/** A job as it crosses threads. */
export interface PostedJob {
  readonly id: number
  readonly job: GraphJob
  /** Not 0: give up. */
  readonly stop: Int32Array
}

/** What comes back. */
export type PostedOutcome =
  | { readonly id: number; readonly kind: 'built'; readonly built: BuiltGraph }
  | { readonly id: number; readonly kind: 'failed'; readonly error: SentError }

const ENTRY = new URL('./builder-worker.ts', import.meta.url)

interface Pending {
  settle(outcome: { built?: BuiltGraph; error?: ServiceError }): void
}

/** A thread for graphs, which take minutes, and one for lists alone, which take less than a second. */
export class BuilderThreads implements GraphBuilder {
  readonly #graphs: BuilderThread
  readonly #lists: BuilderThread

  /** They give way while the flag is set: to the thread that asks. */
  constructor(answering: AnsweringFlag = newAnsweringFlag()) {
    this.#graphs = new BuilderThread({ answering })
    this.#lists = new BuilderThread({ answering })
  }

  begin(job: GraphJob, onDone: () => void): GraphBuilding {
    return (job.makesGraph ? this.#graphs : this.#lists).begin(job, onDone)
  }
}

/**
 * One thread, which begins with the first job and does one after the other. It ends with the thread that
 * asks. If it fails, what was under way is UNAVAILABLE, and the next job begins another one.
 */
class BuilderThread implements GraphBuilder {
  readonly #data: BuilderData
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #nextId = 1

  constructor(data: BuilderData) {
    this.#data = data
  }

  begin(job: GraphJob, onDone: () => void): GraphBuilding {
    const id = this.#nextId
    this.#nextId += 1
    const stop = new Int32Array(new SharedArrayBuffer(4))
    let outcome: { built?: BuiltGraph; error?: ServiceError } = {}
    this.#pending.set(id, {
      settle(settled) {
        outcome = settled
        onDone()
      },
    })
    const posted: PostedJob = { id, job, stop }
    this.#start().postMessage(posted, [])
    return {
      advance: () => false,
      outcome() {
        if (outcome.error !== undefined) throw outcome.error
        return outcome.built
      },
      cancel: () => {
        Atomics.store(stop, 0, 1)
        this.#pending.delete(id)
      },
    }
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(ENTRY, { workerData: this.#data })
    worker.on('message', (message: PostedOutcome) => this.#settle(message))
    worker.on('error', (cause) => this.#lose(worker, cause))
    worker.on('exit', () => this.#lose(worker, undefined))
    worker.unref() // last: a listener to messages holds the process again
    this.#worker = worker
    return worker
  }

  #settle(message: PostedOutcome): void {
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if (message.kind === 'built') pending?.settle({ built: message.built })
    else pending?.settle({ error: receivedError(message.error) })
  }

  #lose(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const error = new ServiceError('UNAVAILABLE', 'the thread that makes graphs ended', { cause })
    for (const pending of this.#pending.values()) pending.settle({ error })
    this.#pending.clear()
  }
}
