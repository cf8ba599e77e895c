// What batch runners and stream runners promise alike: about the sessions they open.

import { expect } from 'chai'
import type { ModelSpec } from '../../inference/models/model-spec.ts'
import type { RunnerParts } from '../../inference/pipelines/model-runner.ts'
import type { GraphSession } from '../../inference/runtime/graph-session.ts'
import { withRunnerParts } from '../harness/runner-parts.ts'
import type { PartsOptions } from '../harness/runner-parts.ts'
import { SessionWatch } from '../harness/session-watch.ts'
import { errorOf } from './kv-store.ts'

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

  it('releases what it has opened when another session cannot be opened', async () => {
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

function failAtRuns(watch: SessionWatch): void {
  watch.failsAtRuns = true
}
