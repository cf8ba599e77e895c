// What a shard keeps of one document for one embeddings index. Described in docs/reference/formats/artifact.md.
//
// Little-endian, and each part begins at a multiple of 4, so that rows are read where they lie:
//   0 format   1 kind   2 flags, u16   4 ordinal   8 dimension   12 count of rows   16 source hash
//   32 attempts   36 bytes of the texts   40 rows, then the texts
//   row: start, end, then the dense vector, or the count of terms, the terms and their weights

import { assert, unreachable } from '../../lib/assert.ts'
import { runAtOnce, type Sliced } from '../../lib/sliced.ts'
import {
  corrupt,
  HEAD_BYTES,
  NUMBER_BYTES,
  readDenseRows,
  readSparseRows,
  ROW_HEAD_BYTES,
  RowReader,
  type ArtifactRow,
  type SparseRow,
} from './artifact-rows.ts'
import { decodeTexts, encodeTexts, FLAG_TEXTS, type ArtifactTexts } from './artifact-texts.ts'

export type { ArtifactRow, SparseRow } from './artifact-rows.ts'
export type { ArtifactTexts } from './artifact-texts.ts'

/** What all kinds of artifacts have. */
export interface ArtifactHead {
  /** The document for which it was made has it: the artifact of another ordinal is dead. */
  readonly ordinal: number
  /** 16 bytes that name what was embedded and how; undefined: a client gave the vector. */
  readonly sourceHash: Uint8Array | undefined
  readonly texts?: ArtifactTexts
}

/** One dense vector for each chunk, or for the whole document. */
export interface DenseArtifact extends ArtifactHead {
  readonly kind: 'dense'
  readonly dimension: number
  readonly rows: readonly ArtifactRow[]
}

/** One sparse vector for each chunk, or for the whole document. */
export interface SparseArtifact extends ArtifactHead {
  readonly kind: 'sparse'
  readonly rows: readonly SparseRow[]
}

/** Embedding failed for good: it is not tried again until the source changes. */
export interface ParkedArtifact extends ArtifactHead {
  readonly kind: 'parked'
  readonly attempts: number
}

export type Artifact = DenseArtifact | SparseArtifact | ParkedArtifact
export type ArtifactKind = Artifact['kind']

const SOURCE_HASH_BYTES = 16

const FORMAT = 1
const CODE_BY_KIND: Record<ArtifactKind, number> = { dense: 1, sparse: 2, parked: 3 }
const KINDS: readonly ArtifactKind[] = ['dense', 'sparse', 'parked']
const ORDINAL_AT = 4
const DIMENSION_AT = 8
const ROWS_AT = 12
const HASH_AT = 16
const ATTEMPTS_AT = 32
const TEXTS_AT = 36

/** Breaks a belief when rows have other lengths than the artifact says, or the hash has no 16 bytes. */
export function encodeArtifact(artifact: Artifact): Buffer {
  const { sourceHash } = artifact
  assert(sourceHash === undefined || isHash(sourceHash), 'a source hash has 16 bytes, not all 0')
  const texts = encodeTexts(artifact.texts)
  const rowsBytes = bytesOfRows(artifact)
  const out = Buffer.alloc(HEAD_BYTES + rowsBytes + texts.length)
  out[0] = FORMAT
  out[1] = CODE_BY_KIND[artifact.kind]
  out.writeUInt16LE(texts.length === 0 ? 0 : FLAG_TEXTS, 2)
  out.writeUInt32LE(artifact.ordinal, ORDINAL_AT)
  if (sourceHash !== undefined) out.set(sourceHash, HASH_AT)
  out.writeUInt32LE(texts.length, TEXTS_AT)
  writeKind(out, artifact)
  out.set(texts, HEAD_BYTES + rowsBytes)
  return out
}

/**
 * Reads what `encodeArtifact` made; CORRUPTION for anything else. Vectors are views of `bytes` where
 * they are aligned there, else copies.
 */
export function decodeArtifact(bytes: Uint8Array): Artifact {
  return runAtOnce(decode(bytes, decodeTexts))
}

/** As `decodeArtifact`, without a look at the texts, which may be longer than the rows. */
export function decodeArtifactRows(bytes: Uint8Array): Artifact {
  return runAtOnce(decodeArtifactRowsInSteps(bytes))
}

/** The same in steps: an artifact may have thousands of rows. */
export function decodeArtifactRowsInSteps(bytes: Uint8Array): Sliced<Artifact> {
  return decode(bytes, () => undefined)
}

function* decode(bytes: Uint8Array, readTexts: typeof decodeTexts): Sliced<Artifact> {
  const view = checkHead(bytes)
  const kind = kindOf(bytes)
  const textsBytes = view.getUint32(TEXTS_AT, true)
  const rowsEnd = bytes.length - textsBytes
  if (rowsEnd < HEAD_BYTES) throw corrupt('its texts are cut short')
  const texts = readTexts(bytes.subarray(rowsEnd), view.getUint16(2, true))
  const head = {
    ordinal: view.getUint32(ORDINAL_AT, true),
    sourceHash: hashOf(bytes),
    ...(texts === undefined ? {} : { texts }),
  }
  const reader = new RowReader(bytes, view, rowsEnd)
  switch (kind) {
    case 'dense':
      return { ...head, kind, ...(yield* readDense(reader, view)) }
    case 'sparse':
      return { ...head, kind, rows: yield* readSparse(reader, view) }
    case 'parked':
      if (rowsEnd !== HEAD_BYTES || rowCountOf(view) !== 0 || dimensionOf(view) !== 0) {
        throw corrupt('a parked one has rows')
      }
      return { ...head, kind, attempts: attemptsOf(view) }
    default:
      return unreachable(kind)
  }
}

/** The head alone, without a look at the rows. */
export function headOfArtifact(bytes: Uint8Array): ArtifactHead & { readonly kind: ArtifactKind } {
  const view = checkHead(bytes)
  return {
    kind: kindOf(bytes),
    ordinal: view.getUint32(ORDINAL_AT, true),
    sourceHash: hashOf(bytes),
  }
}

/** The ordinal alone, without a look at the rows. */
export function ordinalOfArtifact(bytes: Uint8Array): number {
  return checkHead(bytes).getUint32(ORDINAL_AT, true)
}

/** A copy for a document of this ordinal. */
export function withArtifactOrdinal(bytes: Uint8Array, ordinal: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt32LE(ordinal, ORDINAL_AT)
  return copy
}

/** Whether there is anything to search: not in a parked one, nor in one of a document without text. */
export function hasRows(bytes: Uint8Array): boolean {
  return rowCountOf(checkHead(bytes)) > 0
}

/** The texts as they are stored: JSON, or no bytes. A parked one has none that belong to its document. */
export function textsOfArtifact(bytes: Buffer): Buffer {
  const textsBytes = checkHead(bytes).getUint32(TEXTS_AT, true)
  return bytes.subarray(kindOf(bytes) === 'parked' ? bytes.length : bytes.length - textsBytes)
}

function bytesOfRows(artifact: Artifact): number {
  switch (artifact.kind) {
    case 'dense':
      return artifact.rows.length * (ROW_HEAD_BYTES + artifact.dimension * NUMBER_BYTES)
    case 'sparse':
      return artifact.rows.reduce((sum, { terms }) => sum + sparseBytes(terms.length), 0)
    case 'parked':
      return 0
    default:
      return unreachable(artifact)
  }
}

function sparseBytes(termCount: number): number {
  return ROW_HEAD_BYTES + NUMBER_BYTES + termCount * 2 * NUMBER_BYTES
}

function writeKind(out: Buffer, artifact: Artifact): void {
  if (artifact.kind === 'parked') {
    out.writeUInt32LE(artifact.attempts, ATTEMPTS_AT)
    return
  }
  out.writeUInt32LE(artifact.rows.length, ROWS_AT)
  if (artifact.kind === 'dense') writeDense(out, artifact)
  else writeSparse(out, artifact)
}

function writeDense(out: Buffer, { dimension, rows }: DenseArtifact): void {
  out.writeUInt32LE(dimension, DIMENSION_AT)
  let at = HEAD_BYTES
  for (const { start, end, vector } of rows) {
    assert(vector.length === dimension, 'each row has the dimension of its artifact')
    at = writeRowHead(out, at, start, end)
    out.set(bytesOf(vector), at)
    at += vector.byteLength
  }
}

function writeSparse(out: Buffer, { rows }: SparseArtifact): void {
  let at = HEAD_BYTES
  for (const { start, end, terms, weights } of rows) {
    assert(terms.length === weights.length, 'each term has a weight')
    at = writeRowHead(out, at, start, end)
    at = out.writeUInt32LE(terms.length, at)
    out.set(bytesOf(terms), at)
    out.set(bytesOf(weights), at + terms.byteLength)
    at += terms.byteLength + weights.byteLength
  }
}

function writeRowHead(out: Buffer, at: number, start: number, end: number): number {
  return out.writeUInt32LE(end, out.writeUInt32LE(start, at))
}

/** The numbers as this machine has them: all that run the store are little-endian. */
function bytesOf(numbers: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
}

function checkHead(bytes: Uint8Array): DataView {
  if (bytes.length < HEAD_BYTES) throw corrupt('its head is cut short')
  if (bytes[0] !== FORMAT) throw corrupt(`unknown format ${bytes[0]}`)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function kindOf(bytes: Uint8Array): ArtifactKind {
  const kind = KINDS.find((known) => CODE_BY_KIND[known] === bytes[1])
  if (kind === undefined) throw corrupt(`unknown kind ${bytes[1]}`)
  return kind
}

function hashOf(bytes: Uint8Array): Uint8Array | undefined {
  const hash = bytes.slice(HASH_AT, HASH_AT + SOURCE_HASH_BYTES)
  return isHash(hash) ? hash : undefined
}

function isHash(hash: Uint8Array): boolean {
  return hash.length === SOURCE_HASH_BYTES && hash.some((byte) => byte !== 0)
}

function dimensionOf(view: DataView): number {
  return view.getUint32(DIMENSION_AT, true)
}

function attemptsOf(view: DataView): number {
  return view.getUint32(ATTEMPTS_AT, true)
}

function rowCountOf(view: DataView): number {
  return view.getUint32(ROWS_AT, true)
}

function* readDense(
  reader: RowReader,
  view: DataView,
): Sliced<Pick<DenseArtifact, 'dimension' | 'rows'>> {
  const dimension = dimensionOf(view)
  if (dimension === 0) throw corrupt('a dense one has no dimension')
  if (attemptsOf(view) !== 0) throw corrupt('a dense one counts attempts')
  return { dimension, rows: yield* readDenseRows(reader, { dimension, count: rowCountOf(view) }) }
}

function* readSparse(reader: RowReader, view: DataView): Sliced<readonly SparseRow[]> {
  if (dimensionOf(view) !== 0) throw corrupt('a sparse one has a dimension')
  if (attemptsOf(view) !== 0) throw corrupt('a sparse one counts attempts')
  return yield* readSparseRows(reader, rowCountOf(view))
}
