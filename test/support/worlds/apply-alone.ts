// An index without a table: it learns the fields that its own documents bring.

import { runAtOnce, type Paced } from '../../../lib/sliced.ts'
import { packBatch, type DocumentChange } from '../../../node/index/host/document-batch.ts'
import type { TextEngine } from '../../../node/index/text/hosted/text-engine.ts'

export function applyAlone(
  held: TextEngine,
  sequence: number,
  changes: readonly DocumentChange[],
): void {
  runAtOnce(applyAloneInSteps(held, sequence, changes))
}

export function* applyAloneInSteps(
  held: TextEngine,
  sequence: number,
  changes: readonly DocumentChange[],
): Paced<void> {
  for (let left = changes; ;) {
    const { taken, undecided } = yield* held.apply(packBatch(sequence, left))
    if (taken === left.length) return
    yield* held.learn(undecided)
    left = left.slice(taken)
  }
}
