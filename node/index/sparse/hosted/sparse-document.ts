import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { SparseRow } from '../../../embedding/artifact.ts'
import type { SparseIndexSettings } from '../../../embedding/sparse-index-settings.ts'
import { SPARSE_TERMS_MAX } from '../../../embedding/sparse-rules.ts'
import type { DocumentChange } from '../../host/document-batch.ts'
import type { ReadChange } from '../../rows/rows-engine.ts'
import { readArtifact } from '../../vector/hosted/vector-document.ts'
import type { SparseVector } from '../../vector/vector-search.ts'
import type { SparseDocument } from '../segment/sparse-tail.ts'

/** Terms that are looked at in some tenths of a millisecond. */
const TERMS_PER_STEP = 16_384
/** A term and its weight. */
const TERM_BYTES = 8

/** Reads the artifact in a change, and keeps of each vector what the settings say. The vectors are copies. */
export function* sparseDocumentOf(
  { key, json: bytes, expiresAtMs, ordinal }: DocumentChange,
  settings: SparseIndexSettings,
): Sliced<ReadChange<SparseDocument>> {
  if (bytes === undefined) return { kind: 'none' }
  const artifact = yield* readArtifact(bytes)
  if (artifact === undefined) return { kind: 'unfit' }
  if (artifact.kind !== 'sparse') return { kind: artifact.kind === 'dense' ? 'unfit' : 'none' }
  // It was made for a document that has been deleted since.
  if (ordinal !== undefined && ordinal !== artifact.ordinal) return { kind: 'none' }
  const { rows } = artifact
  const meter = new StepMeter(TERMS_PER_STEP)
  const vectors: SparseVector[] = []
  let termCount = 0
  for (const row of rows) {
    if (!isSearchable(row)) return { kind: 'unfit' }
    const kept = keptTerms(row, settings)
    vectors.push(kept)
    termCount += kept.terms.length
    if (meter.spend(row.terms.length)) yield
  }
  if (termCount === 0) return { kind: 'none' }
  const document = {
    key: Uint8Array.from(key),
    ordinal: artifact.ordinal,
    expiresAtMs,
    starts: rows.map(({ start }) => start),
    ends: rows.map(({ end }) => end),
    vectors,
    vectorBytes: termCount * TERM_BYTES,
  }
  return { kind: 'document', document }
}

/** One of several rows may have no weight at all: its chunk has no word that the model knows. */
function isSearchable({ terms, weights }: SparseRow): boolean {
  return (
    terms.length <= SPARSE_TERMS_MAX && weights.every((weight) => weight >= 0 && weight < Infinity)
  )
}

/** The heaviest terms; of equal ones those with the smaller ids. A weight of 0 adds nothing to any product. */
function keptTerms(
  { terms, weights }: SparseRow,
  { topK = Infinity, minWeight }: SparseIndexSettings,
): SparseVector {
  const weightAt = (at: number): number => weights[at] ?? 0
  const places = [...terms.keys()].filter((at) => weightAt(at) > 0 && weightAt(at) >= minWeight)
  const kept =
    places.length <= topK
      ? places
      : places
          .toSorted((a, b) => weightAt(b) - weightAt(a) || a - b)
          .slice(0, topK)
          .toSorted((a, b) => a - b)
  return {
    terms: Uint32Array.from(kept, (at) => terms[at] ?? 0),
    weights: Float32Array.from(kept, weightAt),
  }
}
