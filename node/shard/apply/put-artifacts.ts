// What a write does to a document's artifacts: vectors and texts of indexes, each with the document's ordinal.
// Others of the document's artifacts stay, and those of a deleted document are dead by their ordinal.

import { withArtifactOrdinal } from '../../embedding/artifact.ts'
import type { ArtifactWrite } from '../../embedding/written-embeddings.ts'
import { feedOf, isEnriched } from '../../index/kinds/index-kinds.ts'
import {
  isDeleted,
  ordinalOf,
  withOrdinal,
  type DocumentRecord,
} from '../format/document-record.ts'
import { artifactKey, parkedKey } from '../format/keyspace.ts'
import type { ApplyContext } from './apply-context.ts'
import type { CommandView } from './command-view.ts'

/** A document without an ordinal can be in no index of vectors: it has no artifacts. */
export function putArtifacts(
  view: CommandView,
  { key, ordinal }: { readonly key: Buffer; readonly ordinal: number | undefined },
  artifacts: readonly ArtifactWrite[] = [],
): void {
  for (const { index, artifact } of artifacts) {
    const at = artifactKey(index, key)
    if (artifact === undefined || ordinal === undefined) view.del(at)
    else view.put(at, withArtifactOrdinal(artifact, ordinal))
  }
}

/** For a document that stays as it is. One from before there were ordinals gets its own. */
export function putArtifactsAlone(
  view: CommandView,
  { key, previous }: { readonly key: Buffer; readonly previous: DocumentRecord | undefined },
  artifacts: readonly ArtifactWrite[],
): void {
  if (previous === undefined || isDeleted(previous)) return
  putArtifacts(view, { key, ordinal: numberedOrdinal(view, key, previous) }, artifacts)
}

/** All that the table's indexes have of a document, which is gone. They are dead by their ordinal anyway. */
export function dropArtifacts(context: ApplyContext, key: Buffer): void {
  const { view, indexes } = context
  for (const { kind, id } of indexes) {
    if (feedOf(kind) === 'artifacts') view.del(artifactKey(id, key))
  }
  dropMarks(context, key)
}

/** A document that is gone is not parked. */
export function dropMarks({ view, indexes }: ApplyContext, key: Buffer): void {
  for (const index of indexes) if (isEnriched(index)) view.del(parkedKey(index.id, key))
}

/** The ordinal of a document; one from before there were ordinals gets its own. */
export function numberedOrdinal(
  view: CommandView,
  key: Buffer,
  record: DocumentRecord,
): number | undefined {
  return ordinalOf(record) ?? numbered(view, key, record)
}

function numbered(view: CommandView, key: Buffer, record: DocumentRecord): number | undefined {
  const ordinal = view.takeOrdinal()
  if (ordinal !== undefined) view.retime(key, withOrdinal(record, ordinal))
  return ordinal
}
