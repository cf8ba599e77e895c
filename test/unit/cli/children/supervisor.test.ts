import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { supervise } from '../../../../cli/children/supervisor.ts'
import type { SupervisedProcess, SupervisedServer } from '../../../../cli/children/supervisor.ts'
import { ManualClock } from '../../../../lib/clock.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const READY_WITHIN_MS = 2 * MINUTE_MS

class ScriptedProcess implements SupervisedProcess {
  readonly asked: string[] = []
  readonly #ended = Promise.withResolvers<string>()
  readonly ended = this.#ended.promise

  end(how: string): void {
    this.#ended.resolve(how)
  }

  terminate(): void {
    this.asked.push('terminate')
  }

  kill(): void {
    this.asked.push('kill')
    this.end('was ended by SIGKILL')
  }
}

class ScriptedServer implements SupervisedServer {
  readonly started: ScriptedProcess[] = []
  ready = true
  alive = true

  get last(): ScriptedProcess {
    const last = this.started.at(-1)
    if (last === undefined) throw new Error('nothing was started')
    return last
  }

  start(): ScriptedProcess {
    const process = new ScriptedProcess()
    this.started.push(process)
    return process
  }

  async isReady(): Promise<boolean> {
    return this.ready
  }

  async isAlive(): Promise<boolean> {
    return this.alive
  }
}

const ignore = (): void => undefined

describe('supervise', () => {
  let clock: ManualClock
  let server: ScriptedServer
  let stop: AbortController
  let log: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[]
  let over: Promise<void>

  beforeEach(() => {
    clock = new ManualClock()
    server = new ScriptedServer()
    stop = new AbortController()
    log = []
    const error = (message: string, fields = {}): void => void log.push({ message, fields })
    const options = {
      server,
      readyWithinMs: READY_WITHIN_MS,
      clock,
      random: () => 1,
      log: { debug: ignore, info: ignore, warn: ignore, error },
    }
    over = supervise(options, stop.signal)
  })

  afterEach(async () => {
    stop.abort()
    server.last.end('ended with code 0')
    await over
  })

  async function passes(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += SECOND_MS) {
      await turn()
      clock.advance(SECOND_MS)
    }
    await turn()
  }

  /** The pauses before the next processes, each of which ends when it has lasted so long. */
  async function pausesAfter(lastsMs: number, count: number): Promise<readonly number[]> {
    const pauses = []
    for (let started = server.started.length; started <= count; started++) {
      await passes(lastsMs)
      server.last.end('ended with code 70')
      let pauseMs = 0
      for (; server.started.length === started; pauseMs += SECOND_MS) await passes(SECOND_MS)
      pauses.push(pauseMs / SECOND_MS)
    }
    return pauses
  }

  it('starts another process when one has ended, later each time (SUP1, SUP2)', async () => {
    expect(await pausesAfter(SECOND_MS, 8)).to.deep.equal([1, 2, 4, 8, 16, 32, 60, 60])
    expect(log.map(({ message }) => message)).to.deep.equal(
      Array.from({ length: 8 }, () => 'the server ended; another one is started'),
    )
    expect(log[0]?.fields).to.include({ end: 'ended with code 70' })
  })

  it('starts the next one soon when the last one lasted (SUP2)', async () => {
    await pausesAfter(SECOND_MS, 4)

    expect(await pausesAfter(11 * MINUTE_MS, 5)).to.deep.equal([1])
  })

  it('kills one that is not ready in time, and not one that is (SUP3)', async () => {
    server.ready = false
    await passes(READY_WITHIN_MS - 10 * SECOND_MS)
    expect(server.started).to.have.length(1)

    await passes(20 * SECOND_MS)
    expect(server.started[0]?.asked).to.deep.equal(['kill'])
    expect(log[0]).to.deep.equal({
      message: 'the server is killed',
      fields: { reason: 'it was not ready in time' },
    })

    server.ready = true
    await passes(5 * READY_WITHIN_MS)
    expect(server.started).to.have.length(2)
    expect(server.last.asked).to.deep.equal([])
  })

  it('kills one that was ready and does not answer for a minute, and not one that comes back (SUP3)', async () => {
    await passes(MINUTE_MS)
    server.alive = false
    await passes(50 * SECOND_MS)
    server.alive = true
    await passes(MINUTE_MS)
    expect(server.last.asked).to.deep.equal([])

    server.alive = false
    await passes(70 * SECOND_MS)
    expect(server.started[0]?.asked).to.deep.equal(['kill'])
    expect(server.started).to.have.length(2)
  })

  it('leaves one alone that is ready and is not any more, as when it ends in order (SUP3)', async () => {
    await passes(MINUTE_MS)
    server.ready = false
    await passes(5 * READY_WITHIN_MS)

    expect(server.last.asked).to.deep.equal([])
  })

  it('ends the process in order when it is asked to end, and starts no other (SUP4)', async () => {
    await passes(MINUTE_MS)
    stop.abort()
    server.alive = false
    await passes(5 * MINUTE_MS)
    expect(server.last.asked).to.deep.equal(['terminate'])

    server.last.end('ended with code 0')
    await over
    expect(server.started).to.have.length(1)
    expect(log).to.deep.equal([])
  })

  it('ends at once in a pause (SUP4)', async () => {
    server.last.end('ended with code 78')
    await turn()
    stop.abort()

    await over
    expect(server.started).to.have.length(1)
  })
})
