// The segments of a text index, as a kind of segmented index. Format: docs/reference/formats/text-segment.md, "The directory".

import { closedUnlessDone } from '../../../../lib/closing.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import { hasBit, type Bitset } from '../../encoding/bitset.ts'
import { SegmentFiles, type SegmentPlace } from '../../segments/segment-files.ts'
import type { ListedSegment, SegmentFormat } from '../../segments/segment-format.ts'
import type {
  MergeLane,
  SegmentKind,
  SegmentOrder,
  WrittenSegment,
} from '../../segments/segment-kind.ts'
import { ByteBuffer, checksum, readUint32 } from '../encoding/byte-buffer.ts'
import { SegmentInput, SegmentOutput } from '../encoding/segment-file.ts'
import { SegmentState } from '../live/segment-state.ts'
import { DiskSegment } from '../segment/disk-segment.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { writeSegment } from '../segment/text-segment-writer.ts'
import { chooseMerge, chooseSettledMerge } from './text-merge-policy.ts'
import type { TextIndexLimits } from './text-index-options.ts'
import type { TextMemory } from './text-memory.ts'

/** Documents that were not flushed. */
export type MemoryPart = SegmentState<MemorySegment>
/** A segment with its deletions. */
export type DiskPart = SegmentState<DiskSegment>

/** One segment of a checkpoint. */
export interface TextListed extends ListedSegment {
  readonly bytes: number
  /** Which file names the deleted documents; 0 if none are deleted. */
  readonly deletedGeneration: number
}

/** What segments of a text index are made with. */
export interface TextSegmentsOptions extends SegmentPlace {
  readonly memory: TextMemory
  readonly limits: TextIndexLimits
}

type Written = WrittenSegment<DiskPart, TextListed>

const ENDING = 'segment'

/** Writes, opens and chooses the segments of a text index. */
export class TextSegments implements SegmentKind<MemoryPart, DiskPart, TextListed, undefined> {
  readonly files: SegmentFiles<TextListed>
  readonly #memory: TextMemory
  readonly #limits: TextIndexLimits

  constructor({ memory, limits, ...place }: TextSegmentsOptions) {
    this.files = new SegmentFiles(place, TEXT_FORMAT)
    this.#memory = memory
    this.#limits = limits
  }

  readonly lanes: readonly MergeLane<DiskPart, TextListed, undefined>[] = [
    (free, { isIdle }) => {
      const sizes = free.map(({ live, listed: { id, bytes } }) => {
        const { docCount } = live.source
        return { id, bytes, docCount, deletedCount: live.checkpointed }
      })
      const { mergePolicy } = this.#limits
      const chosen =
        chooseMerge(sizes, mergePolicy) ??
        (isIdle ? chooseSettledMerge(sizes, mergePolicy) : undefined)
      if (chosen === undefined) return undefined
      const ids = sizes.map(({ id }) => id).filter((id) => chosen.includes(id))
      return { ids, plan: undefined }
    },
  ]

  newMemory(): MemoryPart {
    return new SegmentState(0, new MemorySegment(), this.#memory.terms)
  }

  isFull({ source }: MemoryPart): boolean {
    return source.bytesInMemory >= this.#limits.memorySegmentBytesMax
  }

  *write({
    id,
    inputs,
  }: SegmentOrder<MemoryPart | DiskPart, undefined>): Paced<Written | undefined> {
    const name = nameOf(id)
    const { disk, isDurable } = this.files
    const out = new SegmentOutput(isDurable ? this.files.path(name) : undefined, disk)
    const sources = inputs.map(({ live, without }) => {
      return { segment: live.source.view(), isDropped: (doc: number) => hasBit(without, doc) }
    })
    const written = yield* closedUnlessDone(writeSegment(sources, out), () => out.abort())
    if (written.docCount === 0) return undefined
    const live = yield* this.#open(id, written.bytes)
    const listed = { id, bytes: live.source.file.bytesTotal, deletedGeneration: 0 }
    return { live, listed, numbers: written.docMaps }
  }

  open({ id }: TextListed): Sliced<DiskPart> {
    return this.#open(id, undefined)
  }

  /** `bytes` are those of an index in memory. */
  *#open(id: number, bytes: Uint8Array | undefined): Sliced<DiskPart> {
    const name = nameOf(id)
    const { pages, terms } = this.#memory
    const source = bytes === undefined ? { name, path: this.files.path(name) } : { name, bytes }
    const file = new SegmentInput(source, pages, this.files.disk)
    const segment = yield* closedUnlessDone(DiskSegment.open(file), () => file.close())
    const live = new SegmentState(id, segment, terms)
    yield* closedUnlessDone(live.prepareExpired(), () => segment.close())
    return live
  }
}

function nameOf(id: number): string {
  return `${id}.${ENDING}`
}

const TEXT_FORMAT: SegmentFormat<TextListed> = {
  noun: 'text index',
  head: {},
  endings: [ENDING],
  endingsOf: () => [ENDING],
  generationOf: ({ deletedGeneration }) => deletedGeneration,
  withDeleted: (listed, deletedGeneration) => ({ ...listed, deletedGeneration }),
  printDeleted(deleted) {
    const out = new ByteBuffer()
    for (const word of deleted) out.writeUint32(word)
    out.writeUint32(checksum(out.view()))
    return out.view()
  },
  parseDeleted(bytes, _, docCount): Bitset | undefined {
    const words = (docCount + 31) >>> 5
    const sum = checksum(bytes.subarray(0, words * 4))
    if (bytes.length !== words * 4 + 4 || readUint32(bytes, words * 4) !== sum) return undefined
    return Uint32Array.from({ length: words }, (__, word) => readUint32(bytes, word * 4))
  },
}
