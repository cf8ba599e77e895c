// Writes one segment from the documents of others, in steps: a flush, or a merge.
//
//   kept documents ─► range of the graph's numbers ─► vectors ──► <id>.vectors ──► graph ──► <id>.graph
//                                                 └─► table ────► <id>.rows
//
// Without files, the graph grows while the vectors are copied.

import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Paced, type Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { graphShapeOf, Quantizer, RangeFinder, type QuantizerRange } from '../graph/quantizer.ts'
import type { GraphLibrary, GrowingGraph } from '../graph/vector-graph.ts'
import type { DenseRows, VectorBlock } from './document-rows.ts'
import { countKept, keptOf, TableFiller, type SegmentInput } from './kept-documents.ts'
import { newTable, type TableBytes } from './row-table.ts'

/** What a writer is given. */
export interface SegmentPlan {
  readonly settings: DenseIndexSettings
  readonly inputs: readonly SegmentInput<DenseRows>[]
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
export type WriteVectors = (vectors: Float32Array) => Paced<void>

/** Numbers that are summed in about a millisecond. */
const NUMBERS_PER_STEP = 2 ** 18
/** Numbers of one document that are copied, or looked at, together: it may have thousands of rows. */
const NUMBERS_AT_ONCE = 2 ** 16

/** Undefined if no document is kept. */
export function* writeRows(plan: SegmentPlan, write: WriteVectors): Paced<WrittenRows | undefined> {
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
      const row = yield* filler.add(input.rows, doc)
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

function* findRange({ settings, inputs }: SegmentPlan): Sliced<QuantizerRange> {
  const finder = new RangeFinder(settings)
  if (!finder.isNeeded) return finder.range()
  const meter = new StepMeter(NUMBERS_PER_STEP)
  for (const { vectors, at, rowCount } of blocksOf(inputs, settings)) {
    for (let i = 0; i < rowCount; i += 1) finder.add(vectors, at + i * settings.dimension)
    if (meter.spend(rowCount * settings.dimension)) yield
  }
  return finder.range()
}

/** The vectors of all kept documents; a block is good until the next one. */
function* blocksOf(
  inputs: readonly SegmentInput<DenseRows>[],
  { dimension }: DenseIndexSettings,
): Generator<VectorBlock> {
  for (const input of inputs) {
    for (const doc of keptOf(input)) {
      const end = input.rows.firstRowOf(doc + 1)
      for (let row = input.rows.firstRowOf(doc); row < end;) {
        const block = input.rows.block(row, rowsAtOnce(end - row, dimension))
        yield block
        row += block.rowCount
      }
    }
  }
}

function rowsAtOnce(left: number, dimension: number): number {
  return Math.min(left, Math.max(1, Math.floor(NUMBERS_AT_ONCE / dimension)))
}

interface Copying {
  readonly plan: SegmentPlan
  readonly table: TableBytes
  readonly graph: WrittenRows['graph']
  readonly write: WriteVectors
}

/** A document, and its first row in the new segment. */
interface CopiedDocument {
  readonly rows: DenseRows
  readonly doc: number
  readonly row: number
}

function* copyVectors(
  { plan, table, graph, write }: Copying,
  { rows, doc, row: first }: CopiedDocument,
): Paced<void> {
  const { dimension } = plan.settings
  const [from, end] = [rows.firstRowOf(doc), rows.firstRowOf(doc + 1)]
  for (let row = from; row < end;) {
    const block = rows.block(row, rowsAtOnce(end - row, dimension))
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
