// The thread of the built-in models. They run no graph, but they take 50 ms for each megabyte of
// text, and the main thread must serve other clients meanwhile.
//
// Invariants:
//   BT1  Every job gets one answer or refusal, in any order, and no message after it.
//   BT2  Jobs share the thread in slices, so that a short one does not wait for a long one. The limit
//        of served requests bounds their number. A cancelled job ends at its next pause.
//   BT3  A text is sent in pieces, because copying a large one would block the main thread.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { assert } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { WorkerCalls } from '../../../lib/worker-calls.ts'
import type { ChunkSettings } from './chunk-settings.ts'
import type { TextRange } from './word-scanner.ts'

const ENTRY = new URL('./builtin-thread-entry.ts', import.meta.url)
/** Shorter texts are processed on the calling thread, in slices. */
export const CHARS_AT_ONCE_MAX = 64 * 1024
/** Copying this many characters takes about a millisecond. */
const PIECE_CHARS = 512 * 1024

/** The work of one job. */
export type BuiltinJob =
  /** Cuts the text whose pieces were sent before. */
  | { readonly kind: 'chunk'; readonly settings: ChunkSettings }
  | { readonly kind: 'embed'; readonly texts: readonly string[]; readonly dimensions: number }

/** The messages to the thread; `id` is the number of a job. */
export type ToBuiltinThread =
  | { readonly kind: 'piece'; readonly id: number; readonly text: string }
  | { readonly kind: 'job'; readonly id: number; readonly job: BuiltinJob }
  | { readonly kind: 'cancel'; readonly id: number }

/** The answer to a job, of the job's kind. */
export type BuiltinAnswer =
  | { readonly kind: 'chunk'; readonly ranges: readonly TextRange[] }
  | { readonly kind: 'embed'; readonly vectors: readonly Float32Array[] }

/** The message that answers a job. */
export interface FromBuiltinThread<Answer = BuiltinAnswer> {
  readonly id: number
  readonly answer: Answer
}

/**
 * Starts the thread with the first job, and again after a failure. Jobs reject with the signal's
 * reason when they are cancelled, and with UNAVAILABLE after `close`.
 */
export class BuiltinThread implements AsyncDisposable {
  readonly #calls = new WorkerCalls<BuiltinJob>()
  #worker: Worker | undefined
  #isClosed = false

  /** The chunks of a text, as by `chunkFixed`. */
  async chunk(
    text: string,
    settings: ChunkSettings,
    signal: AbortSignal,
  ): Promise<readonly TextRange[]> {
    const answer = await this.#do({ kind: 'chunk', settings }, text, signal)
    assert(answer.kind === 'chunk', 'an answer of the kind that was asked for')
    return answer.ranges
  }

  /** One vector for each text, as by `hashEmbedding`. */
  async embed(
    texts: readonly string[],
    dimensions: number,
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const vectors: Float32Array[] = []
    for (const group of groupsOf(texts)) {
      const answer = await this.#do({ kind: 'embed', texts: group, dimensions }, '', signal)
      assert(answer.kind === 'embed', 'an answer of the kind that was asked for')
      vectors.push(...answer.vectors)
    }
    return vectors
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.terminate()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #do(job: BuiltinJob, text: string, signal: AbortSignal): Promise<BuiltinAnswer> {
    signal.throwIfAborted()
    if (this.#isClosed) throw stopping()
    const worker = (this.#worker ??= this.#start())
    const send = (message: ToBuiltinThread): void => worker.postMessage(message, [])
    const sendJob = (id: number): void => void sendParts(send, { id, text, job }, signal)
    const onAbort = (id: number): void => {
      send({ kind: 'cancel', id })
      this.#calls.refuse(id, signal.reason)
    }
    return this.#calls.call<BuiltinAnswer>(job, sendJob, { signal, onAbort })
  }

  /** A thread that fails rejects all its jobs. The next job starts a new thread. */
  #start(): Worker {
    const worker = new Worker(ENTRY, { name: 'built-in models' })
    worker.unref()
    worker.on('message', ({ id, answer }: FromBuiltinThread<never>) => {
      this.#calls.answer(id, answer)
    })
    let failure: unknown = stopping()
    worker.once('error', (error) => (failure = error))
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      this.#calls.lose(() => failure)
    })
    return worker
  }
}

async function sendParts(
  send: (message: ToBuiltinThread) => void,
  { id, text, job }: { readonly id: number; readonly text: string; readonly job: BuiltinJob },
  signal: AbortSignal,
): Promise<void> {
  for (let from = 0; from < text.length; from += PIECE_CHARS) {
    send({ kind: 'piece', id, text: text.slice(from, from + PIECE_CHARS) })
    await nextTurn()
    if (signal.aborted) return
  }
  send({ kind: 'job', id, job })
}

/** Groups texts so that each group has about the length of one piece. */
function* groupsOf(texts: readonly string[]): Generator<readonly string[]> {
  let group: string[] = []
  let chars = 0
  for (const text of texts) {
    if (group.length > 0 && chars + text.length > PIECE_CHARS) {
      yield group
      group = []
      chars = 0
    }
    group.push(text)
    chars += text.length
  }
  if (group.length > 0) yield group
}

function stopping(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the server is stopping')
}
