import { availableParallelism } from 'node:os'
import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { machineMemoryBytes } from '../../../lib/machine-memory.ts'
import { defaultIndexMemoryBytes } from './default-index-memory.ts'
import { IndexClient } from './index-client.ts'
import type { IndexKinds } from './index-kind.ts'
import { LostQuestions } from './lost-questions.ts'
import { IndexWorkerThread } from './index-worker-thread.ts'
import { threadsOf, type StartWorker } from './started-worker.ts'
import { mergeWorkerReports, type WorkerReport } from './worker-report.ts'

const THREADS_MAX = 4
const HANG_MS_DEFAULT = 10_000

/** One core is left to the event loop. */
function defaultThreadCount(): number {
  return Math.min(THREADS_MAX, Math.max(1, availableParallelism() - 1))
}

/** How many workers there are, what they can host, and what they may use. */
export interface IndexWorkerPoolOptions {
  readonly clock: Clock
  readonly log: Log
  readonly kinds: IndexKinds
  /** The file that workers run, or how one is started: it has an engine for each kind. */
  readonly entry: URL | StartWorker
  readonly threads?: number
  /** The bound of the memory that all threads together use for their indexes. */
  readonly memoryBytesMax?: number
  /** A worker that makes no progress for longer is ended and started again. */
  readonly hangMs?: number
}

/** What an index is called in the log, and which indexes are asked together with it, as those of a table's shards. */
export interface NewIndex {
  readonly name: string
  readonly kind: string
  /** Indexes with the same word are in all threads alike. Default: it is the only one. */
  readonly spread?: string
}

/**
 * The threads of a node's indexes. Each index is written in one of them for its whole life, and read in the others
 * while that one is busy.
 */
export class IndexWorkerPool implements AsyncDisposable {
  readonly #clock: Clock
  readonly #kinds: IndexKinds
  readonly #threads: readonly IndexWorkerThread[]
  /** By number. */
  readonly #names: string[] = []
  readonly #turnBySpread = new Map<string, number>()

  constructor({
    clock,
    log,
    kinds,
    entry,
    threads = defaultThreadCount(),
    memoryBytesMax = defaultIndexMemoryBytes(machineMemoryBytes()),
    hangMs = HANG_MS_DEFAULT,
  }: IndexWorkerPoolOptions) {
    this.#clock = clock
    this.#kinds = kinds
    const settings = { memoryBytesMax: memoryBytesMax / threads }
    const nameOf = (index: number): string => this.#names[index] ?? String(index)
    const startWorker = entry instanceof URL ? threadsOf(entry) : entry
    const lost = new LostQuestions()
    const options = { clock, log, settings, hangMs, startWorker, lost, nameOf }
    this.#threads = Array.from({ length: threads }, () => new IndexWorkerThread(options))
  }

  /** A place for an index; nothing is open yet. UNAVAILABLE: no such kind. */
  newIndex({ name, kind, spread = name }: NewIndex): IndexClient {
    const facts = this.#kinds[kind]
    if (facts === undefined) {
      throw new ServiceError('UNAVAILABLE', `this version knows no indexes of kind "${kind}"`)
    }
    const id = this.#names.push(name) - 1
    const turn = this.#turnBySpread.get(spread) ?? id
    this.#turnBySpread.set(spread, turn + 1)
    const thread = must(this.#threads[turn % this.#threads.length], 'a thread')
    const others = this.#threads.filter((other) => other !== thread)
    const clock = this.#clock
    return new IndexClient({ id, thread, others, clock, kind: facts, kindName: kind })
  }

  /** The names of the caches of all kinds of index. */
  get cacheNames(): readonly string[] {
    return Object.values(this.#kinds).flatMap(({ cacheNames }) => cacheNames)
  }

  /** The reports of all threads, merged. */
  async report(): Promise<WorkerReport> {
    return mergeWorkerReports(await Promise.all(this.#threads.map((thread) => thread.report())))
  }

  /** Calls that threads have not answered. */
  get pendingCalls(): number {
    return this.#threads.reduce((sum, { pendingCalls }) => sum + pendingCalls, 0)
  }

  /** For tests: whether no thread computes or has a call, so that its home answers whatever is asked next. */
  get isIdle(): boolean {
    return this.#threads.every(({ load }) => load === 0)
  }

  /** How often threads ended without being asked to. */
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
