// What batch runners and stream runners promise alike: about the sessions they open, and aborts.

import { expect } from 'chai'
import type { ModelSpec } from '../../inference/models/model-spec.ts'
import type { RunnerParts } from '../../inference/pipelines/model-runner.ts'
import type { GraphSession } from '../../inference/runtime/graph-session.ts'
import { errorOf } from '../support/error-of.ts'
import { runSignal, withRunnerParts } from '../support/inference/runner-parts.ts'
import type { PartsOptions } from '../support/inference/runner-parts.ts'
import { SessionWatch } from '../support/inference/session-watch.ts'

export interface Disposable {
  dispose(): Promise<void>
}

export interface OpenedRunner<Spec extends ModelSpec, Runner extends Disposable> {
  readonly parts: PartsOptions<Spec>
  readonly open: (parts: RunnerParts<Spec>) => Promise<Runner>
  /** In place of the graphs' sessions; undefined: the graph's own. */
  readonly script?: (file: string) => GraphSession
}

/** Every test has a runner and sessions of its own. */
export async function withWatchedRunner<Spec extends ModelSpec, Runner extends Disposable>(
  { parts: options, open, script }: OpenedRunner<Spec, Runner>,
  use: (runner: Runner, watch: SessionWatch) => Promise<void>,
  prepare: (watch: SessionWatch) => void = () => undefined,
): Promise<void> {
  await withRunnerParts(options, async (parts) => {
    const watch = new SessionWatch(async (file) => script?.(file) ?? parts.openSession(file))
    prepare(watch)
    const openSession = (file: string): Promise<GraphSession> => watch.openSession(file)
    const runner = await open({ ...parts, openSession }).catch((error: unknown) => {
      expect(watch.unreleased, 'sessions of a runner that was not opened').to.equal(0)
      throw error
    })
    watch.runs = 0
    try {
      await use(runner, watch)
    } finally {
      await runner.dispose()
    }
    expect(watch.unreleased, 'sessions of a runner that is disposed of').to.equal(0)
  })
}

export function describeSessionsOf<Spec extends ModelSpec, Runner extends Disposable>(
  opened: OpenedRunner<Spec, Runner>,
): void {
  it('releases every session when it is disposed of', async () => {
    await withWatchedRunner(opened, async (_runner, watch) => {
      expect(watch.unreleased).to.equal(watch.opened)
      expect(watch.opened).to.be.at.least(1)
    })
  })

  it('releases its open sessions when another one cannot be opened', async () => {
    let count = 0
    await withWatchedRunner(opened, async (_runner, watch) => void (count = watch.opened))

    for (let at = 1; at <= count; at += 1) {
      const fail = (watch: SessionWatch): void => void (watch.failsAtOpening = at)
      const error = await errorOf(() => withWatchedRunner(opened, async () => undefined, fail))
      expect(error).to.have.property('message', 'cannot be opened')
    }
  })

  it('releases every session when a graph cannot be run, at its load or later', async () => {
    await withWatchedRunner(opened, async () => undefined, failAtRuns).catch((error: unknown) =>
      expect(error).to.have.property('message', 'cannot be run'),
    )
  })
}

/** `work` does the same each time, with at least two runs of a graph. */
export function describeAbortsOf<Spec extends ModelSpec, Runner extends Disposable>(
  opened: OpenedRunner<Spec, Runner>,
  work: (runner: Runner, signal: AbortSignal) => Promise<unknown>,
): void {
  it('runs no graph once it is aborted', async () => {
    await withWatchedRunner(opened, async (runner, watch) => {
      const aborted = AbortSignal.abort(new Error('gone'))

      expect(await errorOf(() => work(runner, aborted))).to.have.property('message', 'gone')
      expect(watch.runs).to.equal(0)
    })
  })

  it('rejects before the next run of a graph when it is aborted during one, and serves the next call', async () => {
    await withWatchedRunner(opened, async (runner, watch) => {
      const answer = await work(runner, runSignal())
      const { runs } = watch
      expect(runs, 'runs of a graph').to.be.at.least(2)

      for (let at = 1; at < runs; at += 1) {
        const controller = new AbortController()
        watch.runs = 0
        watch.onRun = (run) => run === at && controller.abort(new Error('gone'))
        const error = await errorOf(() => work(runner, controller.signal))
        expect(error).to.have.property('message', 'gone')
        expect(watch.runs, `runs when aborted in run ${at} of ${runs}`).to.equal(at)
      }
      watch.onRun = () => undefined
      expect(await work(runner, runSignal())).to.deep.equal(answer)
    })
  })
}

function failAtRuns(watch: SessionWatch): void {
  watch.failsAtRuns = true
}
