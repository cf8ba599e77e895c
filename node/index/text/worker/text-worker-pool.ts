import { availableParallelism } from 'node:os'
import { must } from '../../../../lib/assert.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { Log } from '../../../../lib/log.ts'
import { TEXT_MEMORY_BYTES_DEFAULT } from '../engine/text-memory.ts'
import { RemoteTextIndex } from './remote-text-index.ts'
import { TextWorkerThread } from './text-worker-thread.ts'
import { mergeWorkerReports, type WorkerReport } from './worker-report.ts'

const THREADS_MAX = 4
const HANG_MS_DEFAULT = 10_000

/** One core is left to the event loop. */
function defaultThreadCount(): number {
  return Math.min(THREADS_MAX, Math.max(1, availableParallelism() - 1))
}

export interface TextWorkerPoolOptions {
  readonly clock: Clock
  readonly log: Log
  readonly threads?: number
  /** Of what all threads together keep of their indexes; see TextMemory. */
  readonly memoryBytesMax?: number
  /** A worker that makes no progress for longer is ended and started again. */
  readonly hangMs?: number
  /** For tests: what a worker runs. */
  readonly entry?: URL
}

/** The threads of a node's text indexes; each index lives in one of them for its whole life. */
export class TextWorkerPool implements AsyncDisposable {
  readonly #clock: Clock
  readonly #threads: readonly TextWorkerThread[]
  /** By number. */
  readonly #names: string[] = []

  constructor({
    clock,
    log,
    threads = defaultThreadCount(),
    memoryBytesMax = TEXT_MEMORY_BYTES_DEFAULT,
    hangMs = HANG_MS_DEFAULT,
    entry,
  }: TextWorkerPoolOptions) {
    this.#clock = clock
    const settings = { memoryBytesMax: memoryBytesMax / threads }
    const nameOf = (index: number): string => this.#names[index] ?? String(index)
    const options = { clock, log, settings, hangMs, entry, nameOf }
    this.#threads = Array.from({ length: threads }, () => new TextWorkerThread(options))
  }

  /** A place for an index; nothing is open yet. The name is for the log. */
  newIndex(name: string): RemoteTextIndex {
    const id = this.#names.push(name) - 1
    const thread = must(this.#threads[id % this.#threads.length], 'a thread')
    return new RemoteTextIndex(id, thread, this.#clock)
  }

  /** Of all threads together. */
  async report(): Promise<WorkerReport> {
    return mergeWorkerReports(await Promise.all(this.#threads.map((thread) => thread.report())))
  }

  /** Calls that threads have not answered. */
  get pendingCalls(): number {
    return this.#threads.reduce((sum, { pendingCalls }) => sum + pendingCalls, 0)
  }

  /** How often threads ended although nobody wanted them to. */
  get restarts(): number {
    return this.#threads.reduce((sum, { restarts }) => sum + restarts, 0)
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
