// The thread of the built-in models: what they need no graph for still takes a twentieth of a second
// for each megabyte of text, and the main thread has other clients.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { assert, must } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { ChunkSettings } from './chunk/chunk-settings.ts'
import type { TextRange } from './chunk/fixed-chunker.ts'

const ENTRY = new URL('./builtin-thread-entry.ts', import.meta.url)
/** Shorter texts are done at once, where they are. */
export const CHARS_AT_ONCE_MAX = 64 * 1024

export type BuiltinJob =
  | { readonly kind: 'chunk'; readonly text: string; readonly settings: ChunkSettings }
  | { readonly kind: 'embed'; readonly texts: readonly string[]; readonly dimensions: number }

export type BuiltinAnswer =
  | { readonly kind: 'chunk'; readonly ranges: readonly TextRange[] }
  | { readonly kind: 'embed'; readonly vectors: readonly Float32Array[] }

/**
 * One job at a time, in order of arrival; how many wait is bounded by the requests that are served,
 * because jobs that nobody waits for any more are passed over.
 */
export class BuiltinThread implements AsyncDisposable {
  #worker: Worker | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  async chunk(
    text: string,
    settings: ChunkSettings,
    signal: AbortSignal,
  ): Promise<readonly TextRange[]> {
    const answer = await this.#do({ kind: 'chunk', text, settings }, signal)
    assert(answer.kind === 'chunk', 'an answer of the kind that was asked for')
    return answer.ranges
  }

  async embed(
    texts: readonly string[],
    dimensions: number,
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const answer = await this.#do({ kind: 'embed', texts, dimensions }, signal)
    assert(answer.kind === 'embed', 'an answer of the kind that was asked for')
    return answer.vectors
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#last.catch(() => undefined)
    await this.#worker?.terminate()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #do(job: BuiltinJob, signal: AbortSignal): Promise<BuiltinAnswer> {
    const done = this.#last.catch(() => undefined).then(() => this.#run(job, signal))
    this.#last = done
    return done
  }

  async #run(job: BuiltinJob, signal: AbortSignal): Promise<BuiltinAnswer> {
    signal.throwIfAborted()
    if (this.#isClosed) throw new ServiceError('UNAVAILABLE', 'the server is stopping')
    this.#worker ??= this.#start()
    this.#worker.postMessage(job, [])
    const [answer]: BuiltinAnswer[] = await once(this.#worker, 'message')
    return must(answer, 'the answer of a thread')
  }

  /** A thread that fails rejects the job that waits for it, and the next job starts another. */
  #start(): Worker {
    const worker = new Worker(ENTRY, { name: 'built-in models' })
    worker.unref()
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return worker
  }
}
