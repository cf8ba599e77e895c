// The thread of the built-in models: what they need no graph for still takes a twentieth of a second
// for each megabyte of text, and the main thread has other clients.
//
// Invariants:
//   BT1  Every job gets one answer or refusal, in any order; after that, nothing.
//   BT2  Jobs share the thread in slices, so that a short one does not wait for a long one. How many
//        there are is bounded by the requests that are served; a cancelled one ends at its next pause.
//   BT3  A text is sent in pieces, because copying a large one would hold up the main thread.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { assert } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { ChunkSettings } from './chunk-settings.ts'
import type { TextRange } from './fixed-chunker.ts'

const ENTRY = new URL('./builtin-thread-entry.ts', import.meta.url)
/** Shorter texts are done where they are, in slices. */
export const CHARS_AT_ONCE_MAX = 64 * 1024
/** Copying so many characters takes about a millisecond. */
const PIECE_CHARS = 512 * 1024

export type BuiltinJob =
  /** Of the text whose pieces came before. */
  | { readonly kind: 'chunk'; readonly settings: ChunkSettings }
  | { readonly kind: 'embed'; readonly texts: readonly string[]; readonly dimensions: number }

export type ToBuiltinThread =
  | { readonly kind: 'piece'; readonly id: number; readonly text: string }
  | { readonly kind: 'job'; readonly id: number; readonly job: BuiltinJob }
  | { readonly kind: 'cancel'; readonly id: number }

export type BuiltinAnswer =
  | { readonly kind: 'chunk'; readonly ranges: readonly TextRange[] }
  | { readonly kind: 'embed'; readonly vectors: readonly Float32Array[] }

export interface FromBuiltinThread {
  readonly id: number
  readonly answer: BuiltinAnswer
}

interface Pending {
  readonly resolve: (answer: BuiltinAnswer) => void
  readonly reject: (error: unknown) => void
}

export class BuiltinThread implements AsyncDisposable {
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #nextId = 0
  #isClosed = false

  async chunk(
    text: string,
    settings: ChunkSettings,
    signal: AbortSignal,
  ): Promise<readonly TextRange[]> {
    const answer = await this.#do({ kind: 'chunk', settings }, text, signal)
    assert(answer.kind === 'chunk', 'an answer of the kind that was asked for')
    return answer.ranges
  }

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
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<BuiltinAnswer>()
    this.#pending.set(id, { resolve, reject })
    const send = (message: ToBuiltinThread): void => worker.postMessage(message, [])
    const cancel = (): void => {
      send({ kind: 'cancel', id })
      reject(signal.reason)
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      void sendParts(send, { id, text, job }, signal)
      return await promise
    } finally {
      this.#pending.delete(id)
      signal.removeEventListener('abort', cancel)
    }
  }

  /** A thread that fails rejects the jobs that it had, and the next job starts another. */
  #start(): Worker {
    const worker = new Worker(ENTRY, { name: 'built-in models' })
    worker.unref()
    worker.on('message', ({ id, answer }: FromBuiltinThread) => {
      this.#pending.get(id)?.resolve(answer)
    })
    worker.once('error', (error) => this.#rejectAll(error))
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      this.#rejectAll(stopping())
    })
    return worker
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#pending.values()) reject(error)
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

/** Texts of about a piece together. */
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
