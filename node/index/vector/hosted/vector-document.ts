import { isServiceError } from '../../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import {
  decodeArtifactRowsInSteps,
  type Artifact,
  type ArtifactRow,
} from '../../../embedding/artifact.ts'
import { NUMBER_BYTES } from '../../../embedding/artifact-rows.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import type { DocumentChange } from '../../host/document-batch.ts'
import type { ReadChange } from '../../rows/rows-engine.ts'
import type { VectorDocument } from '../engine/vector-tail.ts'

/** Numbers that are checked in some tenths of a millisecond. */
const NUMBERS_PER_STEP = 2 ** 17

/**
 * Reads the artifact in a change. The vectors are views of the batch's buffer: the tail copies them
 * (`VectorTail.add`), since a buffer is not kept for some of its documents.
 */
export function* vectorDocumentOf(
  { key, json: bytes, expiresAtMs, ordinal }: DocumentChange,
  { dimension, metric }: DenseIndexSettings,
): Sliced<ReadChange<VectorDocument>> {
  if (bytes === undefined) return { kind: 'none' }
  const artifact = yield* readArtifact(bytes)
  if (artifact === undefined) return { kind: 'unfit' }
  if (artifact.kind !== 'dense' || artifact.rows.length === 0) return { kind: 'none' }
  // It was made for a document that has been deleted since.
  if (ordinal !== undefined && ordinal !== artifact.ordinal) return { kind: 'none' }
  if (artifact.dimension !== dimension) return { kind: 'unfit' }
  const { rows } = artifact
  const meter = new StepMeter(NUMBERS_PER_STEP)
  for (const { vector } of rows) {
    if (!isComparable(vector, metric === 'cosine')) return { kind: 'unfit' }
    if (meter.spend(dimension)) yield
  }
  const document = {
    key: Uint8Array.from(key),
    ordinal: artifact.ordinal,
    expiresAtMs,
    starts: rows.map(({ start }: ArtifactRow) => start),
    ends: rows.map(({ end }: ArtifactRow) => end),
    vectors: rows.map(({ vector }) => vector),
    vectorBytes: rows.length * dimension * NUMBER_BYTES,
  }
  return { kind: 'document', document }
}

/** Undefined for bytes that are not an artifact. The index itself is not damaged: building it again would not help. */
export function* readArtifact(bytes: Uint8Array): Sliced<Artifact | undefined> {
  try {
    return yield* decodeArtifactRowsInSteps(bytes)
  } catch (error) {
    if (isServiceError(error)) return undefined
    throw error
  }
}

/** Whether the vector is finite and, for `cosine`, not all 0. */
function isComparable(vector: Float32Array, needsDirection: boolean): boolean {
  let squares = 0
  for (let i = 0; i < vector.length; i += 1) squares += (vector[i] ?? 0) ** 2
  return Number.isFinite(squares) && (squares > 0 || !needsDirection)
}
