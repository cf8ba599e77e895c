// A segment on disk, and how one is made out of others.

import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import type { DiskSegment } from '../segment/disk-segment.ts'
import { writeSegment, type WrittenSegment } from '../segment/segment-writer.ts'
import { hasBit } from '../encoding/bitset.ts'
import { SegmentState } from '../live/segment-state.ts'
import type { SegmentStore } from './segment-store.ts'
import type { TermCache } from '../live/term-cache.ts'

/**
 * A segment on disk with its deletions. The index that holds it is the only one that changes it.
 */
export interface DiskPart {
  readonly live: SegmentState
  readonly segment: DiskSegment
  deletedGeneration: number
  /** How much of the log the file of that generation covers. */
  persistedDeletes: number
}

/**
 * The number of the segment that `writePart` makes, and the store and the cache that it is made
 * for.
 */
export interface PartWriting {
  readonly id: number
  readonly store: SegmentStore
  readonly terms: TermCache
}

const DELETIONS_PER_STEP = 8192

/**
 * Writes one segment out of several, with the deletions that came meanwhile. The caller replaces them
 * by it before it yields again. Undefined if the segment would be empty.
 */
export function* writePart(
  inputs: readonly SegmentState[],
  { id, store, terms }: PartWriting,
): Paced<DiskPart | undefined> {
  const out = store.newOutput(id)
  const starts = inputs.map(({ checkpointed }) => checkpointed)
  const sources = inputs.map((live) => {
    const dropped = live.deletedAt(live.checkpointed)
    return { segment: live.source.view(), isDropped: (doc: number) => hasBit(dropped, doc) }
  })
  let written: WrittenSegment | undefined
  try {
    written = yield* writeSegment(sources, out)
  } finally {
    if (written === undefined) {
      out.abort()
      store.removeOutput(id)
    }
  }
  if (written.docCount === 0) {
    store.removeOutput(id)
    return undefined
  }
  const segment = yield* store.openSegment(id, written.bytes)
  const live = new SegmentState(id, segment, terms)
  yield* live.prepareExpired()
  yield* carryDeletions(inputs, starts, { live, docMaps: written.docMaps })
  return { live, segment, deletedGeneration: 0, persistedDeletes: 0 }
}

/** Those of the checkpoint first, as invariant D2 of the segment's state wants. */
function* carryDeletions(
  inputs: readonly SegmentState[],
  starts: readonly number[],
  target: { readonly live: SegmentState; readonly docMaps: readonly Int32Array[] },
): Sliced<void> {
  const meter = new StepMeter(DELETIONS_PER_STEP)
  const carried = [...starts]
  const carry = (i: number): void => {
    const docMap = must(target.docMaps[i], 'the map of an input')
    const at = carried[i] ?? 0
    target.live.delete(docMap[must(inputs[i], 'an input').log.values[at] ?? 0] ?? -1)
    carried[i] = at + 1
  }
  for (const [i, live] of inputs.entries()) {
    for (; (carried[i] ?? 0) < live.checkpointed; carry(i)) if (meter.spend(1)) yield
  }
  // From here on without a pause: another checkpoint may have come meanwhile, and none may come
  // before the segment has taken its place.
  for (const [i, live] of inputs.entries()) while ((carried[i] ?? 0) < live.checkpointed) carry(i)
  target.live.checkpointed = target.live.log.length
  for (const [i, { log }] of inputs.entries()) while ((carried[i] ?? 0) < log.length) carry(i)
}
