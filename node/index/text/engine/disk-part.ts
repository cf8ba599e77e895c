// A segment on disk, and how one is made out of others.

import { must } from '../../../../lib/assert.ts'
import { closedUnlessDone } from '../../../../lib/closing.ts'
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

/** A segment that has not taken the place of its inputs. */
export interface WrittenPart {
  /** Takes the deletions that came meanwhile. The caller replaces the inputs by the part before it yields again. */
  settle(): DiskPart
  /** Instead: gives the file up. */
  close(): void
}

/** Writes one segment out of several. Undefined if it would be empty. */
export function* writePart(
  inputs: readonly SegmentState[],
  { id, store, terms }: PartWriting,
): Paced<WrittenPart | undefined> {
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
  const close = (): void => segment.file.close()
  const live = new SegmentState(id, segment, terms)
  const carried = new CarriedDeletions(inputs, starts, { live, docMaps: written.docMaps })
  yield* closedUnlessDone(prepare(live, carried), close)
  return {
    settle() {
      carried.carryRest()
      return { live, segment, deletedGeneration: 0, persistedDeletes: 0 }
    },
    close,
  }
}

function* prepare(live: SegmentState, carried: CarriedDeletions): Sliced<void> {
  yield* live.prepareExpired()
  yield* carried.carryMost()
}

/** Deletions of the inputs become those of the new segment: those of the checkpoint first (D2 of the segment's state). */
class CarriedDeletions {
  readonly #inputs: readonly SegmentState[]
  readonly #target: { readonly live: SegmentState; readonly docMaps: readonly Int32Array[] }
  /** By input, how many of its log. */
  readonly #carried: number[]

  constructor(
    inputs: readonly SegmentState[],
    starts: readonly number[],
    target: { readonly live: SegmentState; readonly docMaps: readonly Int32Array[] },
  ) {
    this.#inputs = inputs
    this.#target = target
    this.#carried = [...starts]
  }

  *carryMost(): Sliced<void> {
    const meter = new StepMeter(DELETIONS_PER_STEP)
    for (const [i, live] of this.#inputs.entries()) {
      for (; this.#count(i) < live.checkpointed; this.#carry(i)) if (meter.spend(1)) yield
    }
  }

  /** In one step: another checkpoint may have come meanwhile, and none may come before the segment has its place. */
  carryRest(): void {
    const { live: target } = this.#target
    for (const [i, live] of this.#inputs.entries()) {
      while (this.#count(i) < live.checkpointed) this.#carry(i)
    }
    target.checkpointed = target.log.length
    for (const [i, { log }] of this.#inputs.entries()) {
      while (this.#count(i) < log.length) this.#carry(i)
    }
  }

  #count(i: number): number {
    return this.#carried[i] ?? 0
  }

  #carry(i: number): void {
    const docMap = must(this.#target.docMaps[i], 'the map of an input')
    const at = this.#count(i)
    const doc = must(this.#inputs[i], 'an input').log.values[at] ?? 0
    this.#target.live.delete(docMap[doc] ?? -1)
    this.#carried[i] = at + 1
  }
}
