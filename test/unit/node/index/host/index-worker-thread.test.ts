// What the main thread sees of a worker that it may ask.

import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { systemClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { IndexWorkerThread } from '../../../../../node/index/host/index-worker-thread.ts'
import { LostQuestions } from '../../../../../node/index/host/lost-questions.ts'
import type { StartWorker, WorkerEvents } from '../../../../../node/index/host/started-worker.ts'
import { NO_CALL, WorkerProgress } from '../../../../../node/index/host/worker-progress.ts'
import { errorOf } from '../../../../support/error-of.ts'

/** A thread whose worker does what the test says. */
class Steered {
  readonly thread: IndexWorkerThread
  #progress: WorkerProgress | undefined
  #events: WorkerEvents | undefined

  constructor() {
    const startWorker: StartWorker = ({ progress }, events) => {
      this.#progress = new WorkerProgress(progress)
      this.#events = events
      return { post: () => undefined, terminate: async () => events.onExit() }
    }
    this.thread = new IndexWorkerThread({
      clock: systemClock,
      log: silentLog,
      settings: { memoryBytesMax: 1 },
      hangMs: 60_000,
      startWorker,
      lost: new LostQuestions(),
      nameOf: String,
    })
  }

  get progress(): WorkerProgress {
    return must(this.#progress, 'a worker that was started')
  }

  answer(id: number): void {
    const error = { code: 'NOT_FOUND', message: 'an answer like any other' } as const
    must(this.#events, 'a worker that was started').onMessage({ kind: 'refusal', id, error })
  }
}

describe('the load of an index worker', () => {
  let steered: Steered
  beforeEach(() => (steered = new Steered()))
  afterEach(() => steered.thread.close())

  const ask = (): Promise<unknown> =>
    errorOf(() => steered.thread.call({ index: 0, kind: 'stats', request: undefined }))

  it('is the number of calls that it has not answered', async () => {
    expect(steered.thread.load).to.equal(0)
    const calls = [ask(), ask()]
    expect(steered.thread.load).to.equal(2)
    steered.answer(1)
    steered.answer(2)
    await Promise.all(calls)
    expect(steered.thread.load).to.equal(0)
  })

  it('does not count the call whose answer came before the end of its slice', async () => {
    const call = ask()
    steered.progress.begin({ operation: 'stats', index: 0, call: 1 })
    steered.answer(1)
    await call

    expect(steered.thread.load).to.equal(0)
  })

  it('counts what it does without a call', async () => {
    const call = ask()
    steered.answer(1)
    await call
    steered.progress.begin({ operation: 'maintain', index: -1, call: NO_CALL })

    expect(steered.thread.load).to.equal(1)
    steered.progress.pause()
    expect(steered.thread.load).to.equal(0)
  })
})
