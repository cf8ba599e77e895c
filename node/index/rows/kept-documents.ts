// Which documents of other segments go into a new one, and the table of these.

import { assert } from '../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { hasBit, type Bitset } from '../encoding/bitset.ts'
import type { DocumentRows } from './document-rows.ts'
import { orderOf } from './radix-sort.ts'
import { hashOfKey, type TableBytes, type TableSizes } from './row-table.ts'

/** The documents of one segment that go into the new one: all but those to be left out. */
export interface SegmentInput<Rows extends DocumentRows = DocumentRows> {
  readonly rows: Rows
  readonly without: Bitset
}

/** What becomes of the documents of several segments. */
export interface KeptDocuments {
  readonly sizes: Pick<TableSizes, 'docCount' | 'rowCount' | 'keyBytes'>
  readonly firstExpiryMs: number
  readonly numbers: readonly Int32Array[]
}

/** A microsecond or so: a document or a row that is looked at. */
const LOOKS_PER_STEP = 4096

/** The numbers of the documents to keep, ascending. */
export function* keptOf({ rows, without }: SegmentInput): Generator<number> {
  // Documents that are added meanwhile are for the next segment.
  const { docCount } = rows
  for (let doc = 0; doc < docCount; doc += 1) if (!hasBit(without, doc)) yield doc
}

/** How much is kept, and by input the new number of each document; -1 for those left out. */
export function* countKept(inputs: readonly SegmentInput[]): Sliced<KeptDocuments> {
  const numbers: Int32Array[] = []
  let [docCount, rowCount, keyBytes] = [0, 0, 0]
  let firstExpiryMs = Infinity
  const meter = new StepMeter(LOOKS_PER_STEP)
  for (const input of inputs) {
    const numbersOf = new Int32Array(input.rows.docCount).fill(-1)
    numbers.push(numbersOf)
    for (const doc of keptOf(input)) {
      numbersOf[doc] = docCount
      docCount += 1
      rowCount += input.rows.firstRowOf(doc + 1) - input.rows.firstRowOf(doc)
      keyBytes += input.rows.keyOf(doc).length
      const expiresAtMs = input.rows.expiryOf(doc)
      if (expiresAtMs > 0) firstExpiryMs = Math.min(firstExpiryMs, expiresAtMs)
      if (meter.spend(1)) yield
    }
  }
  return { sizes: { docCount, rowCount, keyBytes }, firstExpiryMs, numbers }
}

/** Fills the table of a new segment, document after document. */
export class TableFiller {
  readonly #table: TableBytes
  readonly #meter = new StepMeter(LOOKS_PER_STEP)
  #doc = 0
  #row = 0
  #keyAt = 0

  constructor(table: TableBytes) {
    this.#table = table
  }

  /** Its first row. */
  *add(from: DocumentRows, doc: number): Sliced<number> {
    const { sections } = this.#table
    const key = from.keyOf(doc)
    const first = this.#row
    sections.ordinals[this.#doc] = from.ordinalOf(doc)
    sections.expiries[this.#doc] = from.expiryOf(doc)
    sections.keys.set(key, this.#keyAt)
    const end = from.firstRowOf(doc + 1)
    for (let row = from.firstRowOf(doc); row < end; row += 1) {
      sections.starts[this.#row] = from.startOf(row)
      sections.ends[this.#row] = from.endOf(row)
      this.#row += 1
      if (this.#meter.spend(1)) yield
    }
    this.#doc += 1
    this.#keyAt += key.length
    sections.firstRows[this.#doc] = this.#row
    sections.keyStarts[this.#doc] = this.#keyAt
    return first
  }

  *finish(): Sliced<void> {
    const { sections, sizes } = this.#table
    const hashes = new Uint32Array(sizes.docCount)
    const meter = new StepMeter(LOOKS_PER_STEP)
    for (let doc = 0; doc < sizes.docCount; doc += 1) {
      const { keys, keyStarts } = sections
      hashes[doc] = hashOfKey(keys.subarray(keyStarts[doc], keyStarts[doc + 1]))
      if (meter.spend(1)) yield
    }
    sections.docsByHash.set(yield* orderOf(hashes))
    for (let at = 0; at < sizes.docCount; at += 1) {
      sections.hashes[at] = hashes[sections.docsByHash[at] ?? 0] ?? 0
      if (meter.spend(1)) yield
    }
    sections.docsByOrdinal.set(yield* orderOf(sections.ordinals))
    yield* this.#assertAscending(meter)
  }

  /** Lookups halve these three sections. */
  *#assertAscending(meter: StepMeter): Sliced<void> {
    const { firstRows, hashes, docsByOrdinal, ordinals } = this.#table.sections
    const ordinalAt = (at: number): number => ordinals[docsByOrdinal[at] ?? 0] ?? 0
    for (let at = 1; at < this.#table.sizes.docCount; at += 1) {
      const hasRows = (firstRows[at - 1] ?? 0) < (firstRows[at] ?? 0)
      const hasOrder = (hashes[at - 1] ?? 0) <= (hashes[at] ?? 0)
      assert(hasRows && hasOrder, 'the rows and the hashes of a table ascend')
      assert(ordinalAt(at - 1) <= ordinalAt(at), 'the ordinals of a table ascend')
      if (meter.spend(1)) yield
    }
  }
}
