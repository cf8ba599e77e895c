import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import type { ModelSpec } from '../../inference/models/model-spec.ts'
import type { StreamRunner } from '../../inference/pipelines/model-runner.ts'
import { errorOf } from '../support/error-of.ts'
import { runSignal } from '../support/inference/runner-parts.ts'
import type { SessionWatch } from '../support/inference/session-watch.ts'
import { describeAbortsOf, describeSessionsOf, withWatchedRunner } from './runner-sessions.ts'
import type { OpenedRunner } from './runner-sessions.ts'

export interface StreamRunnerCase<Spec extends ModelSpec, Request, Event, End> extends OpenedRunner<
  Spec,
  StreamRunner<Request, Event, End>
> {
  /** Takes many steps and emits several events, the first of them before the second step. */
  readonly long: Request
  /** Another, with other events. */
  readonly other: Request
  readonly refused: readonly Request[]
}

interface Told<Event, End> {
  readonly events: readonly Event[]
  readonly end: End
}

/** Every StreamRunner must pass. */
export function describeStreamRunner<Spec extends ModelSpec, Request, Event, End>(
  name: string,
  kase: StreamRunnerCase<Spec, Request, Event, End>,
): void {
  type Runner = StreamRunner<Request, Event, End>
  const withRunner = (use: (runner: Runner, watch: SessionWatch) => Promise<void>): Promise<void> =>
    withWatchedRunner(kase, use)

  describe(`${name}: StreamRunner contract`, () => {
    it('emits its events before it resolves, and none after', async () => {
      await withRunner(async (runner) => {
        const events: Event[] = []
        await runner.start(kase.long, (event) => events.push(event), runSignal())
        const { length } = events
        await setImmediate()

        expect(length).to.be.at.least(2)
        expect(events).to.have.length(length)
      })
    })

    it('emits the same events to each of several streams as to one alone', async () => {
      await withRunner(async (runner) => {
        const long = await tellAll(runner, kase.long)
        const other = await tellAll(runner, kase.other)
        expect(other.events).to.not.deep.equal(long.events)

        const requests = [kase.other, kase.long, kase.long, kase.other, kase.long, kase.other]
        const told = await Promise.all(requests.map((request) => tellAll(runner, request)))

        const expected = requests.map((request) => (request === kase.long ? long : other))
        expect(told).to.deep.equal(expected)
      })
    })

    it('takes and returns plain data, and does not change its request', async () => {
      await withRunner(async (runner) => {
        const sent = structuredClone(kase.long)
        const before = structuredClone(sent)
        const told = await tellAll(runner, sent)

        expect(isDeepStrictEqual(sent, before), 'the request as it was').to.equal(true)
        expect(isDeepStrictEqual(structuredClone(told), told), 'plain data').to.equal(true)
      })
    })

    it('lets the event loop turn before every run of its graph', async () => {
      await withRunner(async (runner, watch) => {
        let turn = 0
        const turns: number[] = []
        watch.onRun = () => turns.push(turn)
        const isDone = tellAll(runner, kase.long).then(() => true)
        while (!(await Promise.race([isDone, setImmediate(false)]))) turn += 1

        expect(turns.length).to.be.at.least(2)
        expect(new Set(turns).size, 'turns of the event loop').to.equal(turns.length)
      })
    })

    it('refuses invalid requests before the first event and the first run', async () => {
      await withRunner(async (runner, watch) => {
        for (const request of kase.refused) {
          const events: Event[] = []
          const start = () => runner.start(request, (event) => events.push(event), runSignal())

          expect(await errorOf(start)).to.have.property('code', 'INVALID_ARGUMENT')
          expect(events).to.deep.equal([])
          expect(watch.runs).to.equal(0)
        }
        expect(kase.refused).to.have.length.above(0)
      })
    })

    it('rejects before the next run when it is aborted during an event', async () => {
      await withRunner(async (runner, watch) => {
        const controller = new AbortController()
        let runsAtAbort = 0
        const emit = (): void => {
          if (!controller.signal.aborted) runsAtAbort = watch.runs
          controller.abort(new Error('gone'))
        }

        const error = await errorOf(() => runner.start(kase.long, emit, controller.signal))

        expect(error).to.have.property('message', 'gone')
        expect(watch.runs).to.equal(runsAtAbort)
      })
    })

    describeAbortsOf(kase, (runner, signal) => tellAll(runner, kase.long, signal))
    describeSessionsOf(kase)
  })
}

async function tellAll<Request, Event, End>(
  runner: StreamRunner<Request, Event, End>,
  request: Request,
  signal: AbortSignal = runSignal(),
): Promise<Told<Event, End>> {
  const events: Event[] = []
  const end = await runner.start(request, (event) => events.push(event), signal)
  return { events, end }
}
