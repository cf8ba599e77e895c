import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import * as fc from 'fast-check'
import type { ModelSpec } from '../../inference/models/model-spec.ts'
import type { ItemOutcome, ModelRunner } from '../../inference/pipelines/model-runner.ts'
import { must } from '../../lib/assert.ts'
import { runSignal } from '../support/inference/runner-parts.ts'
import type { SessionWatch } from '../support/inference/session-watch.ts'
import { describeAbortsOf, describeSessionsOf, withWatchedRunner } from './runner-sessions.ts'
import type { OpenedRunner } from './runner-sessions.ts'

export interface ModelRunnerCase<Spec extends ModelSpec, Item, Result> extends OpenedRunner<
  Spec,
  ModelRunner<Item, Result>
> {
  /** Each has a result of its own. Together they take at least two runs of a graph. */
  readonly served: readonly Item[]
  /** What this model cannot serve, if there is such a thing. */
  readonly refused: readonly Item[]
}

const BATCH_ITEMS_MAX = 8

/** Every ModelRunner must pass. */
export function describeModelRunner<Spec extends ModelSpec, Item, Result>(
  name: string,
  kase: ModelRunnerCase<Spec, Item, Result>,
): void {
  type Runner = ModelRunner<Item, Result>
  const items = [...kase.served, ...kase.refused]
  const withRunner = (use: (runner: Runner, watch: SessionWatch) => Promise<void>): Promise<void> =>
    withWatchedRunner(kase, use)

  describe(`${name}: ModelRunner contract`, () => {
    it('answers an outcome for each item, in order: done or refused with a reason', async () => {
      await withRunner(async (runner) => {
        const outcomes = await runner.run(items, runSignal())

        expect(outcomes.map(({ kind }) => kind)).to.deep.equal([
          ...kase.served.map(() => 'done'),
          ...kase.refused.map(() => 'refused'),
        ])
        const alone = await outcomesAlone(runner, items)
        expect(outcomes).to.deep.equal(alone)
        const done = alone.slice(0, kase.served.length).map((outcome) => JSON.stringify(outcome))
        expect([...new Set(done)], 'results that differ').to.deep.equal(done)
        for (const outcome of outcomes) if (outcome.kind === 'refused') expectReason(outcome)
      })
    })

    it('answers an empty list for no items, without a run', async () => {
      await withRunner(async (runner, watch) => {
        expect(await runner.run([], runSignal())).to.deep.equal([])
        expect(watch.runs).to.equal(0)
      })
    })

    it('answers for an item the same in any batch as alone', async () => {
      await withRunner(async (runner) => {
        const alone = await outcomesAlone(runner, items)
        const indexes = fc.array(fc.nat(items.length - 1), { maxLength: BATCH_ITEMS_MAX })

        await fc.assert(
          fc.asyncProperty(indexes, async (batch) => {
            const given = batch.map((index) => must(items[index], 'an item'))
            const outcomes = await runner.run(given, runSignal())
            expect(outcomes).to.deep.equal(batch.map((index) => alone[index]))
          }),
          { numRuns: 40 },
        )
      })
    })

    it('takes and returns plain data, and does not change its items', async () => {
      await withRunner(async (runner) => {
        const sent = structuredClone(items)
        const before = structuredClone(sent)
        const outcomes = await runner.run(sent, runSignal())

        expect(isDeepStrictEqual(sent, before), 'items as they were').to.equal(true)
        expect(isDeepStrictEqual(structuredClone(outcomes), outcomes), 'plain data').to.equal(true)
      })
    })

    describeAbortsOf(kase, (runner, signal) => runner.run(kase.served, signal))
    describeSessionsOf(kase)
  })
}

async function outcomesAlone<Item, Result>(
  runner: ModelRunner<Item, Result>,
  items: readonly Item[],
): Promise<ItemOutcome<Result>[]> {
  const outcomes: ItemOutcome<Result>[] = []
  for (const item of items) outcomes.push(...(await runner.run([item], runSignal())))
  return outcomes
}

function expectReason({ code, message }: ItemOutcome<never> & { readonly kind: 'refused' }): void {
  expect(['INVALID_ARGUMENT', 'INFERENCE_FAILED']).to.include(code)
  expect(message).to.have.length.above(0)
}
