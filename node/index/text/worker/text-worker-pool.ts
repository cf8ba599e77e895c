import { availableParallelism } from 'node:os'
import { must } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { Log } from '../../../../lib/log.ts'
import { TEXT_MEMORY_BYTES_DEFAULT } from '../engine/text-memory.ts'
import { RemoteTextIndex } from './remote-text-index.ts'
import { TextWorkerThread } from './text-worker-thread.ts'

const THREADS_MAX = 4

/** One core is left to the event loop. */
export function defaultThreadCount(): number {
  return Math.min(THREADS_MAX, Math.max(1, availableParallelism() - 1))
}

export interface TextWorkerPoolOptions {
  readonly clock: Clock
  readonly log: Log
  readonly threads?: number
  /** Of what all threads together keep of their indexes; see TextMemory. */
  readonly memoryBytesMax?: number
}

/** The threads of a node's text indexes; each index lives in one of them for its whole life. */
export class TextWorkerPool implements AsyncDisposable {
  readonly #clock: Clock
  readonly #threads: readonly TextWorkerThread[]
  #nextIndex = 0

  constructor({
    clock,
    log,
    threads = defaultThreadCount(),
    memoryBytesMax = TEXT_MEMORY_BYTES_DEFAULT,
  }: TextWorkerPoolOptions) {
    this.#clock = clock
    const settings = { memoryBytesMax: memoryBytesMax / threads }
    this.#threads = Array.from({ length: threads }, () => new TextWorkerThread(log, settings))
  }

  /** A place for an index; nothing is open yet. */
  newIndex(): RemoteTextIndex {
    const id = this.#nextIndex++
    const thread = must(this.#threads[id % this.#threads.length], 'a thread')
    return new RemoteTextIndex(id, thread, this.#clock)
  }

  /** For tests: ends every thread as a failure would. */
  async killThreads(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.kill()))
  }

  /** To be called when every index is closed: what was not flushed is replayed. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
