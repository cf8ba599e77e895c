// Writes a column of a new segment from the columns of its source segments. Format:
// docs/reference/formats/text-segment.md, "Columns".

import { StepMeter, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import { isOftenPresent, LISTED_SHARE, type ColumnPlace, type ColumnReader } from './column.ts'
import type { NewDocuments } from './new-documents.ts'
import type { SegmentOutput } from '../encoding/segment-file.ts'

/** About a millisecond of work. */
const DOCS_PER_STEP = 4096
const VALUES_PER_STEP = 4096

/** The column of each source segment; undefined for a segment without the field. */
export interface ColumnSources {
  readonly columns: readonly (ColumnReader | undefined)[]
  /** For keywords: the new ordinal of each ordinal. */
  readonly ordinals: readonly Uint32Array[] | undefined
}

/** The documents that have an entry in the column, all or those of a list, and the values up to each. */
interface Entries {
  readonly docs: Uint32Array | undefined
  readonly ends: Uint32Array
  /** Below 0 unless all entries have equally many values. */
  readonly perDoc: number
}

/** `docs` are the documents with values, if they are few. */
export function* writeColumn(
  out: SegmentOutput,
  documents: NewDocuments & { readonly docs: Uint32Array | undefined },
  sources: ColumnSources,
): Paced<ColumnPlace> {
  const counted = yield* countValues(documents, sources)
  const entries = counted.docs === undefined ? yield* listedIfFew(counted) : counted
  const { docs, ends, perDoc } = entries
  const listed = docs && { offset: out.offset, count: docs.length }
  if (docs !== undefined) yield* out.writeInSteps(bytesOf(docs))
  const endsOffset = perDoc >= 0 ? 0 : out.offset
  if (perDoc < 0) yield* out.writeInSteps(bytesOf(ends))
  const valuesOffset = out.offset
  const page = new ValuePage(out, sources.ordinals !== undefined, ends.at(-1) ?? 0)
  yield* writeValues(page, { ...documents, docs }, sources)
  return { endsOffset, valuesOffset, perDoc: Math.max(perDoc, 0), listed }
}

function* countValues(
  { count: docCount, sourceOf, docOf, docs }: NewDocuments & Pick<Entries, 'docs'>,
  { columns }: ColumnSources,
): Sliced<Entries> {
  const meter = new StepMeter(DOCS_PER_STEP)
  const ends = new Uint32Array(docs?.length ?? docCount)
  let total = 0
  let perDoc = -1
  for (let i = 0; i < ends.length; i += 1) {
    const doc = docOfEntry(docs, i)
    const count = columns[sourceOf[doc] ?? 0]?.count(docOf[doc] ?? 0) ?? 0
    perDoc = i === 0 || perDoc === count ? count : -1
    total += count
    ends[i] = total
    if (meter.spend(1)) yield
  }
  return { docs, ends, perDoc }
}

/** The entries with values, if few of all documents have some. */
function* listedIfFew(all: Entries): Sliced<Entries> {
  const meter = new StepMeter(DOCS_PER_STEP)
  if (all.perDoc > 0) return all
  const docs = new Uint32Array(Math.ceil(all.ends.length / LISTED_SHARE))
  const ends = new Uint32Array(docs.length)
  let found = 0
  let before = 0
  let perDoc = -1
  for (let doc = 0; doc < all.ends.length; doc += 1) {
    if (meter.spend(1)) yield
    const end = all.ends[doc] ?? 0
    if (end === before) continue
    if (isOftenPresent(found + 1, all.ends.length)) return all
    const count = end - before
    perDoc = found === 0 || perDoc === count ? count : -1
    docs[found] = doc
    ends[found] = end
    before = end
    found += 1
  }
  return { docs: docs.subarray(0, found), ends: ends.subarray(0, found), perDoc }
}

function* writeValues(
  page: ValuePage,
  { count: docCount, sourceOf, docOf, docs }: NewDocuments & Pick<Entries, 'docs'>,
  { columns, ordinals }: ColumnSources,
): Sliced<void> {
  const meter = new StepMeter(DOCS_PER_STEP)
  const entryCount = docs?.length ?? docCount
  for (let entry = 0; entry < entryCount; entry += 1) {
    if (meter.spend(1)) yield
    const doc = docOfEntry(docs, entry)
    const source = sourceOf[doc] ?? 0
    const column = columns[source]
    if (column === undefined) continue
    const old = docOf[doc] ?? 0
    const count = column.count(old)
    for (let i = 0; i < count; i += 1) {
      if (page.add(newValue(column.value(old, i), ordinals?.[source]))) yield
    }
  }
  page.write()
}

function docOfEntry(docs: Uint32Array | undefined, entry: number): number {
  return docs === undefined ? entry : (docs[entry] ?? 0)
}

/** Numbers stay, and keywords have new ordinals. */
function newValue(value: number, ordinals: Uint32Array | undefined): number {
  return ordinals === undefined ? value : (ordinals[value] ?? 0)
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Values on their way to the output. */
class ValuePage {
  readonly #out: SegmentOutput
  readonly #values: Float64Array<ArrayBuffer> | Uint32Array<ArrayBuffer>
  #count = 0

  constructor(out: SegmentOutput, holdsOrdinals: boolean, total: number) {
    const length = Math.min(VALUES_PER_STEP, total)
    this.#out = out
    this.#values = holdsOrdinals ? new Uint32Array(length) : new Float64Array(length)
  }

  /** Returns whether a page was written. */
  add(value: number): boolean {
    this.#values[this.#count] = value
    this.#count += 1
    if (this.#count < this.#values.length) return false
    this.write()
    return true
  }

  write(): void {
    const { buffer, BYTES_PER_ELEMENT } = this.#values
    this.#out.write(new Uint8Array(buffer, 0, this.#count * BYTES_PER_ELEMENT))
    this.#count = 0
  }
}
