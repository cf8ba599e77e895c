import { closedUnlessDone } from '../../../../lib/closing.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { SegmentInput } from '../encoding/segment-file.ts'
import { ExpiredDocuments } from '../live/expired-documents.ts'
import { LiveSegment, type SegmentShares } from '../live/live-segment.ts'
import { SegmentTerms } from '../live/segment-terms.ts'
import { DiskSegment } from '../segment/disk-segment.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import type { Segment } from '../segment/segment.ts'
import { SearchSnapshot } from './search-snapshot.ts'
import type { SegmentViewDescription, ViewDescription } from './index-view.ts'
import type { TextMemory } from './text-memory.ts'

/**
 * Searches the views of one opened index (not of another one in the same directory) in a thread that
 * does not write it. Contract:
 * - `open` makes a snapshot of a view that has not been released, in steps. Its answers are those of the
 *   index's sealed segments at the moment of the view.
 * - A segment is opened once for all views that have it, and closed with the last of their snapshots as
 *   soon as the newest view lacks it.
 * - Calls of `open` may run beside each other, and views may be opened in another order than they were
 *   taken.
 * - CORRUPTION for a file that is damaged, or missing because its view was released.
 */
export class ViewReader {
  readonly #memory: TextMemory
  readonly #disk: DiskWork
  readonly #opened = new Map<number, ViewedSegment>()
  #generation = -1

  constructor(memory: TextMemory, disk: DiskWork) {
    this.#memory = memory
    this.#disk = disk
  }

  *open({ generation, segments }: ViewDescription): Sliced<SearchSnapshot> {
    const viewed: ViewedSegment[] = []
    const release = (): void => {
      for (const { segment } of viewed) segment.close()
    }
    yield* closedUnlessDone(this.#openAll({ generation, segments }, viewed), release)
    if (generation > this.#generation) {
      this.#generation = generation
      this.#closeOthers(new Set(segments.map(({ id }) => id)))
    }
    const live = viewed.map((one, i) => one.at(segments[i]?.deleted))
    return new SearchSnapshot(live, release)
  }

  /** Snapshots that were opened stay good. What is being opened is not kept. */
  close(): void {
    this.#generation = Infinity
    this.#closeOthers(new Set())
  }

  *#openAll({ generation, segments }: ViewDescription, into: ViewedSegment[]): Sliced<void> {
    for (const description of segments) into.push(yield* this.#retained(description, generation))
  }

  /** It is closed once for each time that it was answered. */
  *#retained(description: SegmentViewDescription, generation: number): Sliced<ViewedSegment> {
    const known = this.#opened.get(description.id)
    if (known !== undefined) return retained(known)
    const { pages, terms } = this.#memory
    const file = new SegmentInput(description.source, pages, this.#disk)
    const opening = DiskSegment.open(file, description.resident)
    const segment = yield* closedUnlessDone(opening, () => file.close())
    const other = this.#opened.get(description.id)
    if (other !== undefined) {
      segment.close()
      return retained(other)
    }
    const opened = new ViewedSegment(description.id, segment, terms)
    // A segment of an older view is not remembered: no later view would close it.
    if (generation < this.#generation) return opened
    this.#opened.set(description.id, opened)
    return retained(opened)
  }

  #closeOthers(kept: ReadonlySet<number>): void {
    for (const [id, { segment }] of this.#opened) {
      if (kept.has(id)) continue
      this.#opened.delete(id)
      segment.close()
    }
  }
}

function retained(one: ViewedSegment): ViewedSegment {
  one.segment.retain()
  return one
}

const NO_BITS = new Uint32Array(0)

/** A segment that a reader has open, with the parts that its views share. */
class ViewedSegment implements SegmentShares {
  readonly id: number
  readonly segment: DiskSegment
  readonly terms: SegmentTerms
  /** The log of the newest view: the logs of older views are beginnings of it. */
  readonly #log: { values: Uint32Array } = { values: NO_BITS }
  readonly #expired = new ExpiredDocuments()

  constructor(id: number, segment: DiskSegment, terms: TextMemory['terms']) {
    this.id = id
    this.segment = segment
    this.terms = new SegmentTerms(this.#log, terms)
  }

  at(deleted: SegmentViewDescription['deleted'] | undefined): LiveSegment {
    const { count = 0, bits = NO_BITS, log = NO_BITS } = deleted ?? {}
    if (log.length > this.#log.values.length) this.#log.values = log
    return new LiveSegment(this.segment, { count, bits }, this)
  }

  get expiryChanges(): number {
    return this.#expired.changes
  }

  expiredAt(segment: Segment, nowMs: number): Bitset | undefined {
    return this.#expired.at(segment, nowMs)
  }
}
