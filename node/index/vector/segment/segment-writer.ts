// Writes one segment from the documents of others, in steps: a flush, or a merge.
//
//   kept documents ─► range of the graph's numbers ─► vectors ──► <id>.vectors ──► graph ──► <id>.graph
//                                                 └─► table ────► <id>.rows
//
// Without files, the graph grows while the vectors are copied.

import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { hasDocument, type DocumentBits } from './deleted-documents.ts'
import { graphShapeOf, Quantizer, RangeFinder, type QuantizerRange } from '../graph/quantizer.ts'
import type { GraphLibrary, GrowingGraph } from '../graph/vector-graph.ts'
import type { DocumentRows, VectorBlock } from './document-rows.ts'
import { orderOf } from './radix-sort.ts'
import { hashOfKey, newTable, type TableBytes } from './row-table.ts'

/** The documents of one segment that go into the new one: all but those to be left out. */
export interface SegmentInput {
  readonly rows: DocumentRows
  readonly without: DocumentBits
}

/** What a writer is given. */
export interface SegmentPlan {
  readonly settings: DenseIndexSettings
  readonly inputs: readonly SegmentInput[]
  /** Whether a graph is made of it. */
  readonly hasGraph: boolean
  /** The range of a graph that is extended; undefined: the vectors' own. */
  readonly range: QuantizerRange | undefined
  /** For a graph that grows while the vectors are copied. */
  readonly library: GraphLibrary | undefined
}

/** A segment whose vectors went to `write`, and whose table is still in memory alone. */
export interface WrittenRows {
  readonly table: TableBytes
  readonly range: QuantizerRange
  /** Undefined if none grows meanwhile. */
  readonly graph: { readonly growing: GrowingGraph; readonly quantizer: Quantizer } | undefined
  /** By input, the new number of each document; -1 for those left out. */
  readonly numbers: readonly Int32Array[]
}

/** Takes the vectors in their order, some rows at a time; they may change after it. */
export type WriteVectors = (vectors: Float32Array) => Sliced<void>

/** A microsecond or so: a document or a row that is looked at. */
const LOOKS_PER_STEP = 4096
/** Numbers that are summed in about a millisecond. */
const NUMBERS_PER_STEP = 2 ** 18

/** Undefined if no document is kept. */
export function* writeRows(
  plan: SegmentPlan,
  write: WriteVectors,
): Sliced<WrittenRows | undefined> {
  const kept = yield* countKept(plan.inputs)
  if (kept.sizes.docCount === 0) return undefined
  const range = plan.range ?? (plan.hasGraph ? yield* findRange(plan) : NO_RANGE)
  const { dimension } = plan.settings
  const table = newTable(
    { dimension, ...kept.sizes, centerLength: range.center.length },
    { scale: range.scale, firstExpiryMs: kept.firstExpiryMs },
  )
  table.sections.center.set(range.center)
  const isGrown = plan.hasGraph && plan.library !== undefined
  const graph = isGrown ? newGraph(plan, range, kept.sizes.rowCount) : undefined
  const filler = new TableFiller(table)
  for (const input of plan.inputs) {
    for (const doc of keptOf(input)) {
      const row = filler.add(input.rows, doc)
      yield* copyVectors({ plan, table, graph, write }, { rows: input.rows, doc, row })
    }
  }
  yield* filler.finish()
  return { table, range, graph, numbers: kept.numbers }
}

const NO_RANGE: QuantizerRange = { center: new Float32Array(0), scale: 1 }

function newGraph({ settings, library }: SegmentPlan, range: QuantizerRange, rowCount: number) {
  const growing = must(library, 'a library').grow(graphShapeOf(settings), rowCount)
  return { growing, quantizer: new Quantizer(settings, range) }
}

function* keptOf({ rows, without }: SegmentInput): Generator<number> {
  // Documents that are added meanwhile are for the next segment.
  const { docCount } = rows
  for (let doc = 0; doc < docCount; doc += 1) if (!hasDocument(without, doc)) yield doc
}

function* countKept(inputs: readonly SegmentInput[]) {
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

function* findRange({ settings, inputs }: SegmentPlan): Sliced<QuantizerRange> {
  const finder = new RangeFinder(settings)
  if (!finder.isNeeded) return finder.range()
  const meter = new StepMeter(NUMBERS_PER_STEP)
  for (const { vectors, at, rowCount } of blocksOf(inputs)) {
    for (let i = 0; i < rowCount; i += 1) finder.add(vectors, at + i * settings.dimension)
    if (meter.spend(rowCount * settings.dimension)) yield
  }
  return finder.range()
}

/** The vectors of all kept documents; a block is good until the next one. */
function* blocksOf(inputs: readonly SegmentInput[]): Generator<VectorBlock> {
  for (const input of inputs) {
    for (const doc of keptOf(input)) {
      const end = input.rows.firstRowOf(doc + 1)
      for (let row = input.rows.firstRowOf(doc); row < end;) {
        const block = input.rows.block(row, end - row)
        yield block
        row += block.rowCount
      }
    }
  }
}

interface Copying {
  readonly plan: SegmentPlan
  readonly table: TableBytes
  readonly graph: WrittenRows['graph']
  readonly write: WriteVectors
}

/** A document, and its first row in the new segment. */
interface CopiedDocument {
  readonly rows: DocumentRows
  readonly doc: number
  readonly row: number
}

function* copyVectors(
  { plan, table, graph, write }: Copying,
  { rows, doc, row: first }: CopiedDocument,
): Sliced<void> {
  const { dimension } = plan.settings
  const [from, end] = [rows.firstRowOf(doc), rows.firstRowOf(doc + 1)]
  for (let row = from; row < end;) {
    const block = rows.block(row, end - row)
    // A copy: others read blocks between two steps.
    const vectors = block.vectors.slice(block.at, block.at + block.rowCount * dimension)
    for (let i = 0; i < block.rowCount; i += 1) {
      const bytes = new Uint8Array(vectors.buffer, i * dimension * 4, dimension * 4)
      const number = first + row - from + i
      table.sections.sums[number] = crc32(bytes)
      if (graph === undefined) continue
      graph.growing.add(number, graph.quantizer.encode(vectors, i * dimension))
      yield
    }
    row += block.rowCount
    yield* write(vectors)
  }
}

class TableFiller {
  readonly #table: TableBytes
  #doc = 0
  #row = 0
  #keyAt = 0

  constructor(table: TableBytes) {
    this.#table = table
  }

  /** Its first row. */
  add(from: DocumentRows, doc: number): number {
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
  }
}
