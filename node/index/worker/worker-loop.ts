// What a worker does with the messages it gets: every call runs in slices beside the others.
//
// Invariants:
//   L1  Calls that change an index are carried out one after the other, in their order; those of
//       different indexes share the thread.
//   L2  Questions wait for nothing but slices: they see the index as it is when they begin.
//   L3  An answer leaves at the end of its last slice, not at the end of the turn: the main thread works on it
//       while this thread works on other calls.

import { isServiceError } from '../../../lib/errors.ts'
import { sentError } from '../../../lib/worker-calls.ts'
import type { FromIndexWorker, ToIndex, ToIndexWorker, ToldWorker } from '../host/protocol.ts'
import type { SlicePriority, SliceScheduler } from './slice-scheduler.ts'
import { isQuestion, type IndexHost } from './index-host.ts'
import { NO_CALL, type WorkerProgress, type WorkerWork } from '../host/worker-progress.ts'
import type { WorkerReport } from '../host/worker-report.ts'

/** What a loop passes messages to, and where answers go. */
export interface IndexWorkerLoopOptions {
  readonly host: IndexHost
  readonly scheduler: SliceScheduler<WorkerWork>
  readonly report: () => Promise<WorkerReport>
  readonly progress: WorkerProgress
  readonly post: (message: FromIndexWorker<unknown>) => void
  /** Hears of a bug: the worker is to end. */
  readonly onBug: (error: unknown) => void
}

/** Answers each message once, in the order that L1 and L2 allow. */
export class IndexWorkerLoop {
  readonly #with: IndexWorkerLoopOptions
  /** By index, the end of its last change. */
  readonly #lanes = new Map<number, Promise<void>>()
  #isMaintaining = false

  constructor(options: IndexWorkerLoopOptions) {
    this.#with = options
  }

  receive(message: ToIndexWorker | ToldWorker): void {
    if (message.kind === 'release' || message.kind === 'forget') {
      this.#hear(message)
      return
    }
    const { id, index, kind } = message
    if (kind === 'report') {
      void this.#report(id)
      return
    }
    if (isQuestion(kind)) {
      this.#answer(message, 'search', ignore)
      return
    }
    const before = this.#lanes.get(index) ?? Promise.resolve()
    const lane = before.then(
      () => new Promise<void>((resolve) => this.#answer(message, 'indexing', resolve)),
    )
    this.#lanes.set(index, lane)
    void lane.then(() => {
      if (this.#lanes.get(index) === lane) this.#lanes.delete(index)
      this.maintain()
    })
  }

  #answer(message: ToIndex, priority: SlicePriority, onAnswered: () => void): void {
    const { host, scheduler, progress, post, onBug } = this.#with
    const { id, index, kind } = message
    const label = { operation: kind, index, call: id }
    const over = (): void => {
      progress.end(id)
      onAnswered()
    }
    const onDone = (answer: unknown): void => {
      post({ kind: 'answer', id, answer })
      over()
    }
    const onFailed = (error: unknown): void => {
      if (isServiceError(error)) post({ kind: 'refusal', id, error: sentError(error) })
      else onBug(error)
      over()
    }
    scheduler.start(host.handle(message), { onDone, onFailed }, { priority, label })
  }

  #hear(message: ToldWorker): void {
    try {
      this.#with.host.hear(message)
    } catch (error) {
      this.#with.onBug(error)
    }
  }

  async #report(id: number): Promise<void> {
    this.#with.post({ kind: 'answer', id, answer: await this.#with.report() })
  }

  /** Flushes and merges beside the calls, if there is something to do. */
  maintain(): void {
    const { host, scheduler, onBug } = this.#with
    if (this.#isMaintaining || host.isSettled) return
    this.#isMaintaining = true
    const label = { operation: 'maintain', index: -1, call: NO_CALL } as const
    const done = scheduler.run(host.maintainInSteps(), { priority: 'indexing', label })
    void done.catch(onBug).then(() => {
      this.#isMaintaining = false
      // A change may have come to its end just now.
      this.maintain()
    })
  }
}

function ignore(): void {
  // Nothing waits for the end of a question.
}
