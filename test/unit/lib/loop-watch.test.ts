import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import { silentLog } from '../../../lib/log.ts'
import { LoopWatch } from '../../../lib/loop-watch.ts'
import { ManualCollections } from '../../support/fakes/manual-collections.ts'

const CHILD = path.resolve(import.meta.dirname, '../../support/processes/hanging-child.ts')
const TIMER_MS = 10

describe('LoopWatch', () => {
  let clock: ManualClock
  let cpuMs: number
  let logged: string[]
  let watch: LoopWatch
  let stop: () => Promise<void>
  let collections: ManualCollections

  beforeEach(() => {
    clock = new ManualClock()
    cpuMs = 0
    logged = []
    const log: Log = {
      ...silentLog,
      warn: (message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
    }
    collections = new ManualCollections()
    watch = new LoopWatch({
      names: ['listTables', 'queryTable'],
      clock,
      log,
      cpuMs: () => cpuMs,
      observeCollections: collections.observe,
    })
    stop = watch.start()
  })

  afterEach(() => stop())

  /** A turn of the loop that takes so long, and so much CPU. */
  async function hold(ms: number, cpu: number): Promise<void> {
    cpuMs += cpu
    clock.advance(TIMER_MS + ms)
    await new Promise((resolve) => setImmediate(resolve))
  }

  const linesOf = async (text: string): Promise<readonly string[]> =>
    (await watch.lines()).filter((line) => line.startsWith(text))

  it('names the operation of a turn that took too much CPU', async () => {
    watch.enter(2)
    await hold(50, 50)
    watch.leave()
    await hold(30, 30)

    expect(await linesOf('quarry_event_loop_holds_total')).to.deep.equal([
      'quarry_event_loop_holds_total{operation="background"} 1',
      'quarry_event_loop_holds_total{operation="queryTable"} 1',
    ])
    expect(await linesOf('quarry_event_loop_longest_hold_seconds')).to.deep.equal([
      'quarry_event_loop_longest_hold_seconds{operation="background"} 0.03',
      'quarry_event_loop_longest_hold_seconds{operation="queryTable"} 0.05',
    ])
  })

  it('counts CPU time apart from the time of a busy machine', async () => {
    await hold(500, 2)

    expect(await linesOf('quarry_event_loop_holds_total')).to.deep.equal([])
    expect(await linesOf('quarry_event_loop_hold_seconds_bucket{le="0.5"}')).to.deep.equal([
      'quarry_event_loop_hold_seconds_bucket{le="0.5"} 1',
    ])
    expect(await linesOf('quarry_event_loop_hold_cpu_seconds_bucket{le="0.005"}')).to.deep.equal([
      'quarry_event_loop_hold_cpu_seconds_bucket{le="0.005"} 1',
    ])
  })

  it('charges an operation for its work, not for collections of garbage in its turn', async () => {
    watch.enter(2)
    // The timer is due at 10 ms: a part of the collection is of turns before this one.
    collections.add({ startTime: 5, duration: 85 })
    await hold(110, 115)

    expect(await linesOf('quarry_event_loop_longest_hold_seconds')).to.deep.equal([
      'quarry_event_loop_longest_hold_seconds{operation="queryTable"} 0.03',
    ])
    expect(await linesOf('quarry_event_loop_hold_cpu_seconds_bucket{le="0.1"}')).to.deep.equal([
      'quarry_event_loop_hold_cpu_seconds_bucket{le="0.1"} 0',
    ])
    expect(await linesOf('quarry_event_loop_hold_work_seconds_bucket{le="0.03"}')).to.deep.equal([
      'quarry_event_loop_hold_work_seconds_bucket{le="0.03"} 1',
    ])
    expect(logged).to.deep.equal([
      'event loop held {"operation":"queryTable","ms":110,"cpuMs":110,"workMs":30}',
    ])
  })

  it('logs the longest holds with their operation', async () => {
    watch.enter(1)
    await hold(99, 99)
    await hold(120, 110)

    expect(logged).to.deep.equal([
      'event loop held {"operation":"listTables","ms":120,"cpuMs":110,"workMs":110}',
    ])
  })

  it('names the operation that is still under way when another one has ended', async () => {
    watch.enter(1)
    watch.enter(2)
    watch.leave()
    await hold(50, 50)

    expect(await linesOf('quarry_event_loop_holds_total')).to.deep.equal([
      'quarry_event_loop_holds_total{operation="queryTable"} 1',
    ])
  })
})

async function endOf(hangMs: number, way: 'hang' | 'end') {
  const child = spawn(process.execPath, [CHILD, String(hangMs), way], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const [exitCode, signal] = await once(child, 'close')
  return { exitCode, signal, text }
}

describe('the guard of the event loop', () => {
  it('ends a process whose loop hangs, and names its operation', async () => {
    const { signal, text } = await endOf(400, 'hang')

    expect(signal).to.equal('SIGKILL')
    expect(JSON.parse(text)).to.include({
      msg: 'event loop hangs, the process ends',
      operation: 'queryTable',
      hangMs: 400,
    })
  })

  it('does not disturb a process that ends normally', async () => {
    expect(await endOf(60_000, 'end')).to.deep.equal({ exitCode: 0, signal: null, text: '' })
  })

  it('does not start when it is turned off', async () => {
    expect(await endOf(0, 'end')).to.deep.equal({ exitCode: 0, signal: null, text: '' })
  })
})
