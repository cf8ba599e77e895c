// The sealed segments of an index: which there are, how they are merged, and the manifest that lists them. The invariants are
// those of segmented-index.ts.

import { must } from '../../../lib/assert.ts'
import { closedUnlessDone } from '../../../lib/closing.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import type { EndMerge, NextMerge } from '../files/upkeep.ts'
import type { HeldSegment } from './held-segment.ts'
import { CarriedDeletions, type LivePart } from './live-part.ts'
import type { ListedSegment, Manifest } from './segment-format.ts'
import type {
  MergeChoice,
  MergeMoment,
  SealedPart,
  SegmentKind,
  WrittenSegment,
} from './segment-kind.ts'

/** By segment, how many of its deletions there were at some moment. They become those of a checkpoint. */
export type DeletionMarks = ReadonlyMap<number, number>

/** A segment before `add` makes it a part of the index. */
export interface NewPart<Live, Listed> {
  /** Takes the deletions that came meanwhile. The caller gives the part its place before it yields again. */
  settle(): Part<Live, Listed>
  /** Instead: gives its files up. */
  close(): void
}

interface Part<Live, Listed> {
  readonly live: Live
  listed: Listed
  /** How much of the log the file has that `listed` names. */
  persisted: number
}

/** Changed by flushes and merges, one step at a time. */
export class SealedParts<
  Memory extends LivePart,
  Live extends LivePart<HeldSegment>,
  Listed extends ListedSegment,
  Plan,
> {
  readonly #kind: SegmentKind<Memory, Live, Listed, Plan>
  #all: readonly Part<Live, Listed>[] = []
  /** Those that a merge has chosen. */
  readonly #merging = new Set<Part<Live, Listed>>()
  #checkpoint = 0
  #nextId = 1
  #isClosed = false

  constructor(kind: SegmentKind<Memory, Live, Listed, Plan>) {
    this.#kind = kind
  }

  get all(): readonly SealedPart<Live, Listed>[] {
    return this.#all
  }

  /** The sequence that the manifest is of. */
  get checkpoint(): number {
    return this.#checkpoint
  }

  /** Opens what the manifest lists, or makes the manifest of a new index. After an error it is closed. */
  *restore(): Paced<void> {
    const manifest = this.#kind.files.readManifest()
    if (manifest === undefined) yield* this.#commit(0)
    else yield* closedUnlessDone(this.#openAll(manifest), () => this.close())
  }

  /** What was deleted by now. */
  marks(): DeletionMarks {
    return new Map(this.#all.map(({ live, listed }) => [listed.id, live.log.length]))
  }

  /** Writes a segment, which `add` makes a part of the index. Undefined if it would be empty. */
  *write(
    inputs: readonly (Memory | Live)[],
    plan?: Plan,
  ): Paced<NewPart<Live, Listed> | undefined> {
    const id = this.#nextId
    this.#nextId += 1
    const written = yield* this.#written(id, inputs, plan)
    if (written === undefined) return undefined
    const { live, listed, numbers } = written
    const carried = new CarriedDeletions(inputs, live, numbers)
    const close = (): void => live.source.close()
    yield* closedUnlessDone(carried.carryMost(), close)
    return {
      settle() {
        carried.carryRest()
        return { live, listed, persisted: 0 }
      },
      close,
    }
  }

  /** Adds a segment in its first step, and makes the checkpoint durable in the others. */
  *add(
    added: NewPart<Live, Listed> | undefined,
    checkpoint: number,
    marks: DeletionMarks,
  ): Paced<void> {
    // SI4: the marks name every segment.
    for (const { live, listed } of this.#all) {
      live.checkpointed = must(marks.get(listed.id), 'a mark')
    }
    if (added !== undefined) this.#all = [...this.#all, added.settle()]
    yield* this.#commit(checkpoint)
  }

  /** By lane, what begins its next merge. */
  nextMerges(moment: Omit<MergeMoment, 'isMerging'>, endBy: EndMerge): readonly NextMerge[] {
    return this.#kind.lanes.map((choose) => () => {
      const free = this.#all.filter((part) => !this.#merging.has(part))
      const choice = choose(free, { ...moment, isMerging: this.#merging.size > 0 })
      return choice && this.#begun(choice, endBy)
    })
  }

  /** Snapshots stay good, and all files stay on the disk. */
  close(): void {
    this.#isClosed = true
    for (const { live } of this.#all) live.source.close()
    this.#all = []
  }

  *#openAll(manifest: Manifest<Listed>): Sliced<void> {
    for (const listed of manifest.segments) {
      const live = yield* this.#kind.open(listed)
      const part = { live, listed, persisted: 0 }
      this.#all = [...this.#all, part]
      const deleted = this.#kind.files.readDeleted(listed, live.source.docCount)
      if (deleted !== undefined) live.restoreDeleted(deleted)
      part.persisted = live.checkpointed
      yield
    }
    this.#nextId = manifest.nextId
    this.#checkpoint = manifest.checkpoint
    this.#kind.files.removeUnlisted(manifest)
  }

  *#written(
    id: number,
    inputs: readonly (Memory | Live)[],
    plan: Plan | undefined,
  ): Paced<WrittenSegment<Live, Listed> | undefined> {
    const parts = inputs.map((live) => ({ live, without: live.deletedAt(live.checkpointed) }))
    let isWritten = false
    try {
      const written = yield* this.#kind.write({ id, inputs: parts, plan })
      isWritten = written !== undefined
      return written
    } finally {
      if (!isWritten) this.#kind.files.removeSegment(id)
    }
  }

  #begun({ ids, plan }: MergeChoice<Plan>, endBy: EndMerge): Paced<void> {
    const inputs = ids.map((id) => {
      return must(
        this.#all.find(({ listed }) => listed.id === id),
        'a chosen segment',
      )
    })
    for (const part of inputs) this.#merging.add(part)
    return this.#merge(inputs, plan, endBy)
  }

  *#merge(inputs: readonly Part<Live, Listed>[], plan: Plan, endBy: EndMerge): Paced<void> {
    let merged: Live | undefined
    try {
      merged = yield* this.#replaced(inputs, plan, endBy)
    } finally {
      for (const part of inputs) this.#merging.delete(part)
    }
    for (const { live, listed } of inputs) {
      // SI5. The space of a file that is still mapped would be freed by the thread that unmaps it, which takes long.
      live.source.closeThen(() => this.#remove(listed))
    }
    if (merged !== undefined) yield* warmed(merged.source)
  }

  *#replaced(
    inputs: readonly Part<Live, Listed>[],
    plan: Plan,
    endBy: EndMerge,
  ): Paced<Live | undefined> {
    const lives = inputs.map(({ live }) => live)
    const written = yield* this.write(lives, plan)
    let part: Part<Live, Listed> | undefined
    let isReplaced = false
    const ending = endBy(() => {
      isReplaced = true
      part = written?.settle()
      const kept = this.#all.filter((one) => !inputs.includes(one))
      this.#all = part === undefined ? kept : [...kept, part]
      return this.#commit(this.#checkpoint)
    })
    // The index may be closed meanwhile. It closes only its present parts, not former or future ones.
    yield* closedUnlessDone(ending, () => {
      if (!isReplaced) written?.close()
      else for (const { source } of lives) source.close()
    })
    return part?.live
  }

  /** Not if the index was closed meanwhile: another one may have files of these names. The next opening removes these. */
  #remove(listed: Listed): void {
    if (this.#isClosed) return
    this.#kind.files.removeSegment(listed.id)
    this.#kind.files.removeDeleted(listed)
  }

  /**
   * Writes deletions up to the checkpoint, and then the manifest; then removes what it no longer names. Nothing else
   * changes what is listed meanwhile (SI4).
   */
  *#commit(checkpoint: number): Paced<void> {
    const { files } = this.#kind
    const obsolete: Listed[] = []
    for (const part of this.#all) {
      const { live, listed } = part
      if (live.checkpointed === part.persisted) continue
      part.listed = yield* files.writeDeleted(listed, live.deletedAt(live.checkpointed))
      part.persisted = live.checkpointed
      obsolete.push(listed)
    }
    const segments = this.#all.map(({ listed }) => listed)
    yield* files.writeManifest({ checkpoint, nextId: this.#nextId, segments })
    this.#checkpoint = checkpoint
    for (const listed of obsolete) files.removeDeleted(listed)
  }
}

/** Reads the segment into the memory that the merged segments had. */
function* warmed(segment: HeldSegment): Sliced<void> {
  segment.retain()
  try {
    yield* segment.warm()
  } finally {
    segment.close()
  }
}
