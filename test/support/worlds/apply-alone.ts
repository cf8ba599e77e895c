// An index without a table: it learns the fields that its own documents bring.

import { runAtOnce, type Sliced } from '../../../lib/sliced.ts'
import { packBatch, type DocumentChange } from '../../../node/index/text/worker/document-batch.ts'
import type { HeldTextIndex } from '../../../node/index/text/worker/held-text-index.ts'

export function applyAlone(
  held: HeldTextIndex,
  sequence: number,
  changes: readonly DocumentChange[],
): void {
  runAtOnce(applyAloneInSteps(held, sequence, changes))
}

export function* applyAloneInSteps(
  held: HeldTextIndex,
  sequence: number,
  changes: readonly DocumentChange[],
): Sliced<void> {
  for (let left = changes; ;) {
    const { taken, undecided } = yield* held.applyInSteps(packBatch(sequence, left))
    if (taken === left.length) return
    yield* held.learnInSteps(undecided)
    left = left.slice(taken)
  }
}
