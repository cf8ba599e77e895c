// What the indexes of each kind are made from: the JSON of documents, with the chunks that other indexes keep of
// them, or the artifacts that the shard keeps for the index. All show the newest state of the moment.

import { unreachable } from '../../../lib/assert.ts'
import { hasRows, ordinalOfArtifact, textsOfArtifact } from '../../embedding/artifact.ts'
import type { DocumentChange } from '../../index/host/document-batch.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { feedOf } from '../../index/kinds/index-kinds.ts'
import type { TallyKind } from './log-tally.ts'
import type { ChunkedIndex } from './chunked-indexes.ts'
import { withChunkTexts, type ChunkedArtifact } from './document-chunks.ts'
import type { TtlPolicy } from '../../schema/document-rules.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import {
  checkRecord,
  isDeleted,
  jsonOf,
  ordinalOf,
  type DocumentRecord,
} from '../format/document-record.ts'
import {
  artifactKey,
  indexedRange,
  documentKey,
  keyOfDocumentKey,
  keyspaceRange,
  parseIndexedKey,
} from '../format/keyspace.ts'
import type { Touch } from '../format/log-entry.ts'
import { effectiveExpiryMs } from '../format/visibility.ts'

/** The documents of a shard: their store, and the policy by which they expire. */
export interface DocumentSource {
  readonly store: KvStore
  readonly ttl: TtlPolicy | undefined
}

/** The indexes whose chunks belong to documents, as the table's record has them now. */
export type FindChunked = () => readonly ChunkedIndex[]

/** A part of a store whose keys name documents. */
interface WalkedRange {
  readonly gte: Buffer
  readonly lt: Buffer
}

/** What one index of a shard is made from. */
export interface IndexSource {
  readonly store: KvStore
  /** Where a walk finds every document that the index may have. */
  readonly range: WalkedRange
  /** The place of a document in the range. */
  placeOf(key: Uint8Array): Buffer
  /** The document whose place it is. */
  keyAt(place: Buffer): Buffer
  /** As `changeOf`, for what a walk finds at a place. */
  changeAt(place: Buffer, value: Buffer): DocumentChange
  /** How changes of the log are counted that `concerns` finds. */
  readonly tallied: TallyKind
  /** Whether the index may have another state of the document after this touch. */
  concerns(touch: Touch): boolean
  /** What the index has to have of the document now. */
  changeOf(key: Buffer): DocumentChange
}

/** The source of an index. `shard` and `chunked` are looked at whenever something is read. */
export function sourceOf(
  shard: DocumentSource,
  { kind, id }: Pick<IndexDefinition, 'kind' | 'id'>,
  chunked: FindChunked = () => [],
): IndexSource {
  const feed = feedOf(kind)
  switch (feed) {
    case 'documents':
      return documentsOf(shard, chunked)
    case 'artifacts':
      return artifactsOf(shard, id)
    default:
      return unreachable(feed)
  }
}

function documentsOf(shard: DocumentSource, chunked: FindChunked): IndexSource {
  const { store } = shard
  const changeAt = (key: Buffer, record: DocumentRecord | undefined): DocumentChange =>
    documentChange(shard, key, { record, chunked: chunked() })
  return {
    store,
    range: keyspaceRange('documents'),
    placeOf: documentKey,
    keyAt: keyOfDocumentKey,
    get tallied() {
      return chunked().length > 0 ? 'touched' : 'documents'
    },
    concerns: ({ changed }) => changed !== 'artifacts' || chunked().length > 0,
    changeAt: (place, record) => changeAt(keyOfDocumentKey(place), record),
    changeOf: (key) => changeAt(key, store.get(documentKey(key))),
  }
}

interface DocumentState {
  readonly record: DocumentRecord | undefined
  readonly chunked: readonly ChunkedIndex[]
}

function documentChange(
  { store, ttl }: DocumentSource,
  key: Buffer,
  { record, chunked }: DocumentState,
): DocumentChange {
  if (record === undefined || isDeleted(checkRecord(record))) return absent(key)
  const artifacts = chunked.flatMap(({ id, name }): ChunkedArtifact[] => {
    const artifact = store.get(artifactKey(id, key))
    const isLive = artifact !== undefined && ordinalOfArtifact(artifact) === ordinalOf(record)
    return isLive && textsOfArtifact(artifact).length > 0 ? [{ name, artifact }] : []
  })
  return { ...lifeOf(record, ttl), key, json: withChunkTexts(jsonOf(record), artifacts) }
}

function artifactsOf(shard: DocumentSource, index: string): IndexSource {
  const { store } = shard
  return {
    store,
    range: indexedRange('artifacts', index),
    placeOf: (key) => artifactKey(index, key),
    keyAt: (place) => parseIndexedKey(place).key,
    get tallied() {
      return shard.ttl === undefined ? 'artifacts' : 'touched'
    },
    // A new document under the key has another ordinal: after a deletion, or where an expired one was. A document
    // that is only changed keeps its artifact, but with a TTL perhaps not its expiry.
    concerns: ({ changed, deleted }) =>
      changed !== 'document' || deleted || shard.ttl !== undefined,
    changeAt: (place, artifact) => artifactChange(shard, parseIndexedKey(place).key, artifact),
    changeOf: (key) => artifactChange(shard, key, store.get(artifactKey(index, key))),
  }
}

function artifactChange(
  { store, ttl }: DocumentSource,
  key: Buffer,
  artifact: Buffer | undefined,
): DocumentChange {
  if (artifact === undefined || !hasRows(artifact)) return absent(key)
  const record = store.get(documentKey(key))
  if (record === undefined || isDeleted(checkRecord(record))) return absent(key)
  const isLive = ordinalOf(record) === ordinalOfArtifact(artifact)
  return isLive ? { ...lifeOf(record, ttl), key, json: artifact } : absent(key)
}

function lifeOf(
  record: DocumentRecord,
  ttl: TtlPolicy | undefined,
): Pick<DocumentChange, 'expiresAtMs' | 'ordinal'> {
  const expiresAtMs = ttl === undefined ? 0 : effectiveExpiryMs(record, ttl)
  return { expiresAtMs, ordinal: ordinalOf(record) }
}

function absent(key: Buffer): DocumentChange {
  return { key, json: undefined, expiresAtMs: 0 }
}
