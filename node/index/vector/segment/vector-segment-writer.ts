// Writes one segment from the documents of others, in steps: a flush, or a merge.
//
//   kept documents ─┬─► vectors ──► <id>.vectors ──► graph, lists ──► <id>.graph, <id>.lists
//                   └─► table ─────────────────────────(codes)────► <id>.rows

import { crc32 } from 'node:zlib'
import type { Paced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import type { DenseRows } from './dense-rows.ts'
import { countKept, keptOf, TableFiller, type SegmentInput } from '../../rows/kept-documents.ts'
import { newTable, type TableBytes } from '../../rows/row-table.ts'

/** What a writer is given. */
export interface WritingPlan {
  readonly settings: DenseIndexSettings
  readonly inputs: readonly SegmentInput<DenseRows>[]
  /** Whether a graph is made of it. */
  readonly hasGraph: boolean
}

/** A segment whose vectors went to `write`, and whose table is still in memory alone. */
export interface WrittenRows {
  readonly table: TableBytes
  /** By input, the new number of each document; -1 for those left out. */
  readonly numbers: readonly Int32Array[]
}

/** Takes the vectors in their order, some rows at a time; they may change after it. */
export type WriteVectors = (vectors: Float32Array) => Paced<void>

/** Numbers of one document that are copied, or looked at, together: it may have thousands of rows. */
const NUMBERS_AT_ONCE = 2 ** 16

/** Undefined if no document is kept. */
export function* writeRows(plan: WritingPlan, write: WriteVectors): Paced<WrittenRows | undefined> {
  const kept = yield* countKept(plan.inputs)
  if (kept.sizes.docCount === 0) return undefined
  const { dimension } = plan.settings
  const centerLength = plan.hasGraph ? dimension : 0
  const table = newTable({ dimension, ...kept.sizes, centerLength }, kept)
  const filler = new TableFiller(table)
  for (const input of plan.inputs) {
    for (const doc of keptOf(input)) {
      const row = yield* filler.add(input.rows, doc)
      yield* copyVectors({ plan, table, write }, { rows: input.rows, doc, row })
    }
  }
  yield* filler.finish()
  return { table, numbers: kept.numbers }
}

function rowsAtOnce(left: number, dimension: number): number {
  return Math.min(left, Math.max(1, Math.floor(NUMBERS_AT_ONCE / dimension)))
}

interface Copying {
  readonly plan: WritingPlan
  readonly table: TableBytes
  readonly write: WriteVectors
}

/** A document, and its first row in the new segment. */
interface CopiedDocument {
  readonly rows: DenseRows
  readonly doc: number
  readonly row: number
}

function* copyVectors(
  { plan, table, write }: Copying,
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
    }
    row += block.rowCount
    yield* write(vectors)
  }
}
