// Writes the norms of a field of a new segment. Format: docs/reference/formats/text-segment.md, "Norms".

import { StepMeter, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import type { SegmentOutput } from '../encoding/segment-file.ts'
import { lengthOfByte } from '../encoding/small-float.ts'
import { DENSE_SHARE, FieldNorms, isDense, normsOfList } from '../encoding/field-norms.ts'
import { newDocsWithField, type NewDocuments } from './new-documents.ts'
import type { SegmentField } from './segment.ts'
import type { NormsPlace } from './segment-norms.ts'

const DOCS_PER_STEP = 8192

/** The norms of the new documents, and their sums. */
export interface NewNorms {
  readonly norms: FieldNorms
  readonly docCount: number
  readonly totalLength: number
}

/** `fields` is the field of text in each source. */
export function* newNorms(
  documents: NewDocuments,
  fields: readonly (SegmentField | undefined)[],
): Sliced<NewNorms> {
  const known = fields.map((field) => field?.norms)
  const docs = yield* newDocsWithField(documents, fields, DENSE_SHARE)
  const { bytes, ...sums } = yield* mappedBytes(documents, known, docs)
  if (docs !== undefined) return { norms: normsOfList(docs, bytes), ...sums }
  if (isDense(sums.docCount, documents.count)) return { norms: FieldNorms.ofAll(bytes), ...sums }
  return { norms: yield* listedOnly(bytes, sums.docCount), ...sums }
}

export function* writeNorms(out: SegmentOutput, norms: FieldNorms): Paced<NormsPlace> {
  const { listed, dense } = norms
  const { offset } = out
  if (listed === undefined) {
    yield* out.writeInSteps(dense)
    return offset
  }
  const docs = listed.read(0, listed.count)
  yield* out.writeInSteps(new Uint8Array(docs.buffer, docs.byteOffset, docs.byteLength))
  yield* out.writeInSteps(Uint8Array.from(docs, (doc) => norms.at(doc)))
  return { offset, count: docs.length }
}

/** The byte of each of `docs`, or of all new documents. */
function* mappedBytes(
  { count, sourceOf, docOf }: NewDocuments,
  norms: readonly (FieldNorms | undefined)[],
  docs: Uint32Array | undefined,
): Sliced<{ bytes: Uint8Array; docCount: number; totalLength: number }> {
  const bytes = new Uint8Array(docs?.length ?? count)
  const meter = new StepMeter(DOCS_PER_STEP)
  let docCount = 0
  let totalLength = 0
  for (let i = 0; i < bytes.length; i += 1) {
    const doc = docs === undefined ? i : (docs[i] ?? 0)
    const byte = norms[sourceOf[doc] ?? 0]?.at(docOf[doc] ?? 0) ?? 0
    bytes[i] = byte
    if (byte > 0) docCount += 1
    totalLength += lengthOfByte(byte)
    if (meter.spend(1)) yield
  }
  return { bytes, docCount, totalLength }
}

function* listedOnly(dense: Uint8Array, count: number): Sliced<FieldNorms> {
  const docs = new Uint32Array(count)
  const bytes = new Uint8Array(count)
  const meter = new StepMeter(DOCS_PER_STEP)
  let at = 0
  for (let doc = 0; doc < dense.length; doc += 1) {
    if (meter.spend(1)) yield
    const byte = dense[doc] ?? 0
    if (byte === 0) continue
    docs[at] = doc
    bytes[at] = byte
    at += 1
  }
  return normsOfList(docs, bytes)
}
