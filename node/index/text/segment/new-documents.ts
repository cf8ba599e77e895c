// The documents of a segment that is being written, and which of them have a field.

import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { docsWithField, mostDocsWithField } from './field-documents.ts'
import { sortDocuments } from '../encoding/listed-documents.ts'
import type { SegmentField } from './segment.ts'

const DOCS_PER_STEP = 16_384

/** The documents of the new segment, and where each comes from. */
export interface NewDocuments {
  readonly count: number
  /** The source segment of each document, and its number there. */
  readonly sourceOf: Uint16Array
  readonly docOf: Uint32Array
  /** The new number of each document of each source; -1 for one that is dropped. */
  readonly docMaps: readonly Int32Array[]
}

/**
 * The new documents with the field, ascending, if they are fewer than one in `share`. Otherwise, or if that
 * can not be known without a look at each, undefined. `fields` is the field in each source.
 */
export function* newDocsWithField(
  documents: NewDocuments,
  fields: readonly (SegmentField | undefined)[],
  share: number,
): Sliced<Uint32Array | undefined> {
  const { count, docMaps } = documents
  let most = 0
  for (const [source, field] of fields.entries()) {
    most += mostDocsWithField(field, docMaps[source]?.length ?? 0)
  }
  if (most * share >= count) return undefined
  const docs = new Uint32Array(most)
  const meter = new StepMeter(DOCS_PER_STEP)
  let found = 0
  for (const [source, field] of fields.entries()) {
    if (field === undefined) continue
    const docMap = must(docMaps[source], 'the map of a source')
    for (const chunk of docsWithField(field, docMap.length)) {
      found = addMapped(docs, found, { chunk, docMap })
      if (meter.spend(chunk.length + 1)) yield
    }
  }
  const all = docs.subarray(0, found)
  yield* sortDocuments(all, count)
  return all
}

/** Adds the new numbers of the documents that are not dropped. Answers how many there are then. */
function addMapped(
  docs: Uint32Array,
  count: number,
  { chunk, docMap }: { readonly chunk: Uint32Array; readonly docMap: Int32Array },
): number {
  let found = count
  for (const old of chunk) {
    const doc = docMap[old] ?? -1
    if (doc >= 0) docs[found++] = doc
  }
  return found
}
