import { expect } from 'chai'
import { ModelWorker } from '../../../../inference/runtime/model-worker.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'

/** A worker on a busy machine may not run for hundreds of milliseconds. */
const CALL_TIMEOUT_MS = 1500
const NEVER = new AbortController().signal

describe('a model worker', () => {
  let worker: ModelWorker
  let ends: number

  beforeEach(async () => {
    ends = 0
    const up = Promise.withResolvers<void>()
    worker = new ModelWorker(
      {
        entry: new URL('../../../support/inference/stepping-worker.ts', import.meta.url),
        isolation: 'process',
        environment: process.env,
        readable: [new URL('../../../support', import.meta.url).pathname],
        settings: { threads: 1, cores: 1, exactRows: false },
        memoryBytesMax: 4 * 1024 ** 3,
        callTimeoutMs: CALL_TIMEOUT_MS,
        closeDeadlineMs: 1_000,
        clock: systemClock,
        random: Math.random,
        log: silentLog,
      },
      { onUp: () => up.resolve(), onDown: () => ends++ },
    )
    await up.promise
    await worker.load(1, {})
  })

  afterEach(() => worker.close())

  it('may take long while it gives signs of life', async () => {
    const items = ['steps', 120]

    expect(await worker.run(1, items, NEVER)).to.deep.equal(items)

    expect(ends).to.equal(0)
  })

  it('is ended when a run blocks it', async () => {
    const refusal = await worker.run(1, ['held up'], NEVER).catch((error: unknown) => error)

    expect(refusal).to.include({ code: 'DEADLINE_EXCEEDED' })
  })

  it('is ended when a cancelled run does not stop', async () => {
    const left = new AbortController()
    const run = worker.run(1, ['deaf', 400], left.signal).catch((error: unknown) => error)

    left.abort()

    expect(await run).to.include({ code: 'DEADLINE_EXCEEDED' })
  })

  it('refuses a call that cannot be sent, and keeps serving', async () => {
    const refusal = await worker.run(1, [() => 0], NEVER).catch((error: unknown) => error)

    expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
    expect(await worker.run(1, ['steps', 1], NEVER)).to.deep.equal(['steps', 1])
  })
})
