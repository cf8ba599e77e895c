import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { watchForHang } from '../../../../../node/index/host/worker-hang-watch.ts'
import {
  newProgressMemory,
  WorkerProgress,
} from '../../../../../node/index/host/worker-progress.ts'
import type { SeenProgress } from '../../../../../node/index/host/worker-progress.ts'

const HANG_MS = 1000
const WORK = { operation: 'apply', index: 7, call: 3 } as const

class Watched {
  readonly #clock = new ManualClock()
  readonly hangs: SeenProgress[] = []
  readonly progress: WorkerProgress

  constructor() {
    const progress = newProgressMemory()
    this.progress = new WorkerProgress(progress)
    const onHang = (seen: SeenProgress): void => void this.hangs.push(seen)
    watchForHang({ clock: this.#clock, hangMs: HANG_MS, progress, onHang })
  }

  async pass(ms: number, meanwhile = (): void => undefined): Promise<void> {
    for (let passed = 0; passed < ms; passed += HANG_MS / 4) {
      meanwhile()
      this.#clock.advance(HANG_MS / 4)
      await new Promise(setImmediate)
    }
  }
}

describe('the watch over a text worker', () => {
  it('reports once the work and the document at which the worker makes no progress', async () => {
    const watched = new Watched()

    watched.progress.begin(WORK)
    watched.progress.onDocument(12)
    await watched.pass(10 * HANG_MS)

    expect(watched.hangs).to.deep.equal([{ ...WORK, beats: 1, document: 12 }])
  })

  it('does not report a worker that makes progress, however long it works', async () => {
    const watched = new Watched()

    await watched.pass(10 * HANG_MS, () => watched.progress.begin(WORK))

    expect(watched.hangs).to.deep.equal([])
  })

  it('does not report an idle worker', async () => {
    const watched = new Watched()

    watched.progress.begin(WORK)
    watched.progress.pause()
    await watched.pass(10 * HANG_MS)

    expect(watched.hangs).to.deep.equal([])
  })
})
