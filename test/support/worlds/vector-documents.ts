// Documents of an index of vectors, as the log of a shard brings them.

import { runAtOnce } from '../../../lib/sliced.ts'
import { encodeArtifact } from '../../../node/embedding/artifact.ts'
import type { DenseIndexSettings } from '../../../node/embedding/settings.ts'
import type { DocumentChange } from '../../../node/index/host/document-batch.ts'
import type { AskedQuestion } from '../../../node/index/host/index-engine.ts'
import { unpackNearest } from '../../../node/index/vector/search/packed-nearest.ts'
import type {
  NearestHit,
  NearestRequest,
  PackedNearest,
} from '../../../node/index/vector/vector-search.ts'

/** A part of a document's text, and its vector. */
export interface GivenRow {
  readonly start?: number
  readonly end?: number
  readonly vector: Float32Array
}

export interface GivenDocument {
  readonly key: string
  readonly ordinal: number
  readonly rows: readonly GivenRow[]
  readonly expiresAtMs?: number
}

/** The write of a document's vectors. */
export function putVectors(document: GivenDocument): DocumentChange {
  const { key, ordinal, rows, expiresAtMs = 0 } = document
  const dimension = rows[0]?.vector.length ?? 1
  const filled = rows.map(({ start = 0, end = 0, vector }) => ({ start, end, vector }))
  const artifact = {
    kind: 'dense',
    ordinal,
    dimension,
    sourceHash: undefined,
    rows: filled,
  } as const
  return { key: Buffer.from(key), json: encodeArtifact(artifact), expiresAtMs, ordinal }
}

export function removeDocument(key: string): DocumentChange {
  return { key: Buffer.from(key), json: undefined, expiresAtMs: 0 }
}

/** As a table's record has them. */
export function recordedSettings(settings: DenseIndexSettings): unknown {
  return { external: true, sparse: false, ...settings }
}

/** Without a limit that matters, and at no time in particular. */
export function nearestTo(
  vector: Float32Array,
  more: Partial<NearestRequest> = {},
): AskedQuestion & { readonly request: NearestRequest } {
  return { question: 'nearest', request: { vector, limit: 10, effort: 0.5, nowMs: 0, ...more } }
}

export function hitsOf(answer: PackedNearest): readonly NearestHit[] {
  return runAtOnce(unpackNearest(answer)).hits
}

export function keysOfHits(answer: PackedNearest): readonly string[] {
  return hitsOf(answer).map(({ key }) => Buffer.from(key).toString())
}

const WORDS = ['tide', 'road', 'none', 'other']
export const WORDS_DIMENSION = WORDS.length

/** A vector for a text, whose inner product with that of a word it has is not 0. */
export function vectorOfWords(text: string): Float32Array {
  const words = new Set(text.split(' '))
  return Float32Array.from(WORDS, (word) => (words.has(word) ? 1 : 0))
}
