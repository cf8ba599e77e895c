// The sealed segments of a text index: which there are, how they are merged, and the manifest that lists them.
//
// Invariant:
//   I6  No merge takes the place of its segments while a flush is under way, and a manifest is durable before the
//       next one is begun (UK1 and UK2 of files/upkeep.ts).

import { must } from '../../../../lib/assert.ts'
import { closedUnlessDone } from '../../../../lib/closing.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { EndMerge } from '../../files/upkeep.ts'
import { SegmentState } from '../live/segment-state.ts'
import type { TermCache } from '../live/term-cache.ts'
import type { DiskSegment } from '../segment/disk-segment.ts'
import { writePart, type DiskPart, type WrittenPart } from './disk-part.ts'
import { describeSegment, ViewHolds, type IndexView } from './index-view.ts'
import { chooseMerge, chooseSettledMerge, type MergePolicy } from './merge-policy.ts'
import type { Manifest, ManifestSegment, SegmentStore } from './segment-store.ts'

/** What the segments of an index are written and merged with. */
export interface SealedPartsOptions {
  readonly store: SegmentStore
  readonly terms: TermCache
  readonly mergePolicy: MergePolicy
}

/** By segment, how many of its deletions there were at some moment. They become those of a checkpoint. */
export type DeletionMarks = ReadonlyMap<number, number>

/** Changed by flushes and merges, one step at a time. */
export class SealedParts {
  readonly #with: SealedPartsOptions
  #all: readonly DiskPart[] = []
  #checkpoint = 0
  #nextId = 1
  readonly #viewHolds = new ViewHolds()
  #viewGeneration = 0

  constructor(options: SealedPartsOptions) {
    this.#with = options
  }

  get all(): readonly DiskPart[] {
    return this.#all
  }

  /** The sequence that the manifest is of. */
  get checkpoint(): number {
    return this.#checkpoint
  }

  /** The manifest of a new index. */
  create(): Paced<void> {
    return this.#writeManifest(0)
  }

  /** Opens what the manifest lists; after an error it is closed. */
  *restore(manifest: Manifest): Sliced<void> {
    yield* closedUnlessDone(this.#openAll(manifest), () => this.close())
    this.#nextId = manifest.nextId
    this.#checkpoint = manifest.checkpoint
    this.#with.store.removeUnlisted(manifest)
  }

  /** See `TextIndex.view`. */
  view(): IndexView {
    const parts = this.#all
    const segments = parts.map(({ segment }) => segment)
    this.#viewHolds.hold(segments)
    this.#viewGeneration += 1
    const description = {
      generation: this.#viewGeneration,
      segments: parts.map(({ live, segment }) => describeSegment(live, segment)),
    }
    let isReleased = false
    const release = (): void => {
      if (!isReleased) this.#viewHolds.letGo(segments)
      isReleased = true
    }
    return { description, release }
  }

  /** What was deleted by now. */
  marks(): DeletionMarks {
    return new Map(this.#all.map(({ live }) => [live.id, live.log.length]))
  }

  /** Writes a segment, which is one of these after `add`. Undefined if it would be empty. */
  write(inputs: readonly SegmentState[]): Paced<WrittenPart | undefined> {
    const { store, terms } = this.#with
    const id = this.#nextId
    this.#nextId += 1
    return writePart(inputs, { id, store, terms })
  }

  /** Adds a segment in its first step, and makes the checkpoint durable in the others. */
  *add(part: DiskPart | undefined, checkpoint: number, marks: DeletionMarks): Paced<void> {
    // I6: every segment is one of those of the marks.
    for (const { live } of this.#all) live.checkpointed = must(marks.get(live.id), 'a mark')
    if (part !== undefined) this.#all = [...this.#all, part]
    yield* this.#commit(checkpoint)
    this.#checkpoint = checkpoint
  }

  /** `isIdle`: nothing waits to be written. */
  nextMerge(isIdle: boolean, endBy: EndMerge): Paced<void> | undefined {
    const sizes = this.#all.map(({ live, segment }) => ({
      id: live.id,
      bytes: segment.file.bytesTotal,
      docCount: segment.docCount,
      // Only what was deleted before the checkpoint can be left out.
      deletedCount: live.checkpointed,
    }))
    const { mergePolicy } = this.#with
    const chosen =
      chooseMerge(sizes, mergePolicy) ??
      (isIdle ? chooseSettledMerge(sizes, mergePolicy) : undefined)
    if (chosen === undefined) return undefined
    const inputs = this.#all.filter(({ live }) => chosen.includes(live.id))
    return this.#merge(inputs, endBy)
  }

  /** Views stay good, and their files stay on the disk. */
  close(): void {
    this.#viewHolds.close()
    for (const { segment } of this.#all) segment.file.close()
    this.#all = []
  }

  *#openAll({ segments }: Manifest): Sliced<void> {
    for (const listed of segments) this.#all = [...this.#all, yield* this.#open(listed)]
  }

  *#open(listed: ManifestSegment): Sliced<DiskPart> {
    const segment = yield* this.#with.store.openSegment(listed.id, undefined)
    return yield* closedUnlessDone(this.#partOf(listed, segment), () => segment.file.close())
  }

  *#partOf(listed: ManifestSegment, segment: DiskSegment): Sliced<DiskPart> {
    const live = new SegmentState(listed.id, segment, this.#with.terms)
    yield* live.prepareExpired()
    const { deletedGeneration } = listed
    if (deletedGeneration > 0) {
      live.restoreDeleted(this.#with.store.readDeleted(listed, segment.docCount))
    }
    return { live, segment, deletedGeneration, persistedDeletes: live.log.length }
  }

  *#merge(inputs: readonly DiskPart[], endBy: EndMerge): Paced<void> {
    const written = yield* this.write(inputs.map(({ live }) => live))
    let isReplaced = false
    const ending = endBy(() => {
      isReplaced = true
      return this.#replace(inputs, written?.settle())
    })
    // The index may be closed meanwhile. It closes its parts, but none that was one before, or is not yet.
    yield* closedUnlessDone(ending, () => {
      if (!isReplaced) written?.close()
      else for (const { segment } of inputs) segment.file.close()
    })
    for (const { live, segment, deletedGeneration } of inputs) {
      const names = { id: live.id, deletedGeneration }
      this.#viewHolds.removeWhenFree(segment, () => this.#with.store.removeSegment(segment, names))
    }
  }

  *#replace(inputs: readonly DiskPart[], merged: DiskPart | undefined): Paced<void> {
    const kept = this.#all.filter((part) => !inputs.includes(part))
    this.#all = merged === undefined ? kept : [...kept, merged]
    yield* this.#commit(this.#checkpoint)
  }

  /**
   * Writes deletions up to the checkpoint, and then the manifest; then removes what it no longer names. Nothing else
   * changes what is listed meanwhile (I6).
   */
  *#commit(checkpoint: number): Paced<void> {
    const { store } = this.#with
    const obsolete: { id: number; generation: number }[] = []
    for (const part of this.#all) {
      const { live } = part
      if (live.checkpointed === part.persistedDeletes) continue
      obsolete.push({ id: live.id, generation: part.deletedGeneration })
      part.deletedGeneration += 1
      part.persistedDeletes = live.checkpointed
      const deleted = live.deletedAt(live.checkpointed)
      yield* store.writeDeleted(live.id, part.deletedGeneration, deleted)
    }
    yield* this.#writeManifest(checkpoint)
    for (const { id, generation } of obsolete) store.removeDeleted(id, generation)
  }

  *#writeManifest(checkpoint: number): Paced<void> {
    yield* this.#with.store.writeManifest({
      version: 1,
      checkpoint,
      nextId: this.#nextId,
      segments: this.#all.map(({ live, segment, deletedGeneration }) => ({
        id: live.id,
        bytes: segment.file.bytesTotal,
        deletedGeneration,
      })),
    })
  }
}
