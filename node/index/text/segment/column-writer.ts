// Writes a column of a new segment from the columns of its source segments. Format:
// docs/formats/text-segment.md, "Columns".

import { StepMeter, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import type { ColumnPlace, ColumnReader } from './column.ts'
import type { SegmentOutput } from '../encoding/segment-file.ts'

/** About a millisecond of work. */
const DOCS_PER_STEP = 4096
const VALUES_PER_STEP = 4096

/** The origin of each document of the new segment: its source segment and its number there. */
export interface NewDocuments {
  readonly count: number
  readonly sourceOf: Uint16Array
  readonly docOf: Uint32Array
}

/** The column of each source segment; undefined for a segment without the field. */
export interface ColumnSources {
  readonly columns: readonly (ColumnReader | undefined)[]
  /** For keywords: the new ordinal of each ordinal. */
  readonly ordinals: readonly Uint32Array[] | undefined
}

export function* writeColumn(
  out: SegmentOutput,
  documents: NewDocuments,
  sources: ColumnSources,
): Paced<ColumnPlace> {
  const { ends, perDoc } = yield* countValues(documents, sources)
  const endsOffset = perDoc >= 0 ? 0 : out.offset
  if (perDoc < 0) yield* out.writeInSteps(new Uint8Array(ends.buffer))
  const valuesOffset = out.offset
  const page = new ValuePage(out, sources.ordinals !== undefined, ends.at(-1) ?? 0)
  yield* writeValues(page, documents, sources)
  return { endsOffset, valuesOffset, perDoc: Math.max(perDoc, 0) }
}

/**
 * Counts the values up to each document. `perDoc` is below 0 unless all documents have equally
 * many.
 */
function* countValues(
  { count: docCount, sourceOf, docOf }: NewDocuments,
  { columns }: ColumnSources,
): Sliced<{ readonly ends: Uint32Array<ArrayBuffer>; readonly perDoc: number }> {
  const meter = new StepMeter(DOCS_PER_STEP)
  const ends = new Uint32Array(docCount)
  let total = 0
  let perDoc = -1
  for (let doc = 0; doc < docCount; doc += 1) {
    const count = columns[sourceOf[doc] ?? 0]?.count(docOf[doc] ?? 0) ?? 0
    perDoc = doc === 0 || perDoc === count ? count : -1
    total += count
    ends[doc] = total
    if (meter.spend(1)) yield
  }
  return { ends, perDoc }
}

function* writeValues(
  page: ValuePage,
  { count: docCount, sourceOf, docOf }: NewDocuments,
  { columns, ordinals }: ColumnSources,
): Sliced<void> {
  const meter = new StepMeter(DOCS_PER_STEP)
  for (let doc = 0; doc < docCount; doc += 1) {
    if (meter.spend(1)) yield
    const source = sourceOf[doc] ?? 0
    const column = columns[source]
    if (column === undefined) continue
    const old = docOf[doc] ?? 0
    const map = ordinals?.[source]
    const count = column.count(old)
    for (let i = 0; i < count; i += 1) {
      const value = column.value(old, i)
      if (page.add(map === undefined ? value : (map[value] ?? 0))) yield
    }
  }
  page.write()
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
