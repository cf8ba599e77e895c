import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { Lifecycle } from '../../../../lib/lifecycle.ts'
import { silentLog, type Log } from '../../../../lib/log.ts'
import { END_STEP_MS_MAX, loggedEnd } from '../../../../lib/process/server-process.ts'
import { passTimeUntil } from '../../../support/worlds/pass-time.ts'

describe('the end of a server', () => {
  let clock: ManualClock
  let life: Lifecycle
  let lines: string[]
  let stuck: string[]
  let end: (reason?: string) => Promise<void>

  beforeEach(() => {
    clock = new ManualClock()
    life = new Lifecycle()
    lines = []
    stuck = []
    const note = (message: string, fields: object = {}): void => {
      lines.push(`${message} ${JSON.stringify(fields)}`)
    }
    const log: Log = { ...silentLog, info: note, warn: note }
    end = loggedEnd({ log, clock, life, onStuck: ({ message }) => stuck.push(message) })
  })

  it('says when it begins and when it is over, once', async () => {
    await Promise.all([end('SIGTERM'), end()])

    expect(lines).to.deep.equal([
      'server stops {"reason":"SIGTERM"}',
      'server stopped {"tookMs":0}',
    ])
  })

  it('names the step that it waits for, and gives up a step that never ends', async () => {
    const never = Promise.withResolvers<void>()
    life.onClose(() => never.promise)
    const ending = end()
    const startMs = clock.monotonicMs()

    await passTimeUntil(clock, () => stuck.length > 0)

    expect(clock.monotonicMs() - startMs).to.be.within(END_STEP_MS_MAX, END_STEP_MS_MAX + 60_000)
    expect(stuck).to.deep.equal(['the end of the server waits in vain for: () => never.promise'])
    expect(lines[1]).to.include(
      'the end of the server takes long {"waitsFor":"() => never.promise"',
    )
    never.resolve()
    await ending
  })

  it('lets many steps take long together', async () => {
    const steps = 5
    const stepMs = END_STEP_MS_MAX / 2
    for (let step = 0; step < steps; step += 1) life.onClose(() => clock.sleep(stepMs))
    let isOver = false
    const ending = end().then(() => (isOver = true))

    await passTimeUntil(clock, () => isOver)
    await ending

    expect(stuck).to.deep.equal([])
  })
})
