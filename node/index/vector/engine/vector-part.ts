// A sealed segment as a part of an index: what was deleted from it, now and at the checkpoint.

import { must } from '../../../../lib/assert.ts'
import type { DocumentRows } from '../segment/document-rows.ts'
import type { SealedRows } from '../segment/sealed-rows.ts'
import {
  addDocument,
  DeletedDocuments,
  hasDocument,
  newDocumentBits,
  type DocumentBits,
} from '../segment/deleted-documents.ts'
import type { ManifestSegment } from './manifest.ts'

/** Documents, and which of them are deleted now. */
export interface LiveDocuments<Rows extends DocumentRows = DocumentRows> {
  readonly rows: Rows
  readonly deleted: DeletedDocuments
}

/** What a search sees of a part: it does not change. */
export interface PartView<Rows extends DocumentRows = DocumentRows, Segment extends Rows = Rows> {
  readonly rows: Rows
  /** Set for a sealed segment. */
  readonly segment: Segment | undefined
  /** Documents from here on came later. */
  readonly docCount: number
  readonly deleted: DocumentBits
  readonly liveCount: number
}

/** A segment on disk, or in memory for good. */
export interface VectorPart<Segment extends SealedRows> extends LiveDocuments<Segment> {
  /** As it is in the manifest. */
  listed: ManifestSegment
  /** What was deleted at the checkpoint: a merge leaves these out, and no others. */
  checkpointed: DocumentBits
  checkpointedCount: number
  /** Whether the manifest has not got `checkpointed` yet. */
  isUnlisted: boolean
}

export function newPart<Segment extends SealedRows>(
  rows: Segment,
  listed: ManifestSegment,
  checkpointed: DocumentBits,
): VectorPart<Segment> {
  const deleted = new DeletedDocuments(checkpointed)
  const checkpointedCount = deleted.count
  deleted.view()
  return { rows, listed, deleted, checkpointed, checkpointedCount, isUnlisted: false }
}

/** The deletions become those of the checkpoint that is written next. */
export function markCheckpoint(
  part: VectorPart<SealedRows>,
  bits: DocumentBits,
  count: number,
): void {
  if (count === part.checkpointedCount) return
  part.checkpointed = bits
  part.checkpointedCount = count
  part.isUnlisted = true
}

export function viewOf<Rows extends DocumentRows, Segment extends Rows>(
  { rows, deleted }: LiveDocuments<Rows>,
  segment?: Segment,
): PartView<Rows, Segment> {
  const { docCount } = rows
  const liveCount = docCount - deleted.count
  return { rows, segment, docCount, deleted: deleted.view(), liveCount }
}

/** What is known of a document's deletion, before it got a new number. */
export interface FormerPart {
  readonly numbers: Int32Array
  readonly deleted: DeletedDocuments
  /** Undefined: nothing had been deleted at the checkpoint. */
  readonly checkpointed: DocumentBits | undefined
}

/** A new part, from which is deleted what was deleted from its inputs while it was written. */
export function partOf<Segment extends SealedRows>(
  rows: Segment,
  listed: ManifestSegment,
  inputs: readonly FormerPart[],
): VectorPart<Segment> {
  const checkpointed = newDocumentBits(rows.docCount)
  const later: number[] = []
  for (const { numbers, deleted, checkpointed: former } of inputs) {
    for (let doc = 0; doc < numbers.length; doc += 1) {
      const number = must(numbers[doc], 'a number')
      if (number < 0) continue
      if (former !== undefined && hasDocument(former, doc)) addDocument(checkpointed, number)
      else if (deleted.has(doc)) later.push(number)
    }
  }
  const part = newPart(rows, listed, checkpointed)
  for (const number of later) part.deleted.add(number)
  return { ...part, isUnlisted: part.checkpointedCount > 0 }
}
