// A set of documents to aggregate, and the walk over their values.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Poll } from '../poll.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { Segment } from '../segment/segment.ts'

/** Documents of one segment, ascending. */
export interface SegmentDocs {
  readonly segment: Segment
  readonly docs: Uint32Array
}

export type DocSet = readonly SegmentDocs[]

export function countDocs(set: DocSet): number {
  return set.reduce((sum, { docs }) => sum + docs.length, 0)
}

/**
 * The values of one document are `values[from]` up to `values[to]`, exclusive. There is at least
 * one.
 */
export type ValueVisitor = (doc: number, values: Float64Array, from: number, to: number) => void

const WINDOW_DOCS = 1024
/** The cost of looking up a document's value and visiting it. */
const VISIT_COST = 8
/**
 * If at most this many documents lie in the range of each wanted one, reading all of them is
 * faster.
 */
const READ_WASTE_MAX = 8

/** Visits every document with values, in ascending order. */
export function* walkValues(
  docs: Uint32Array,
  column: ColumnReader,
  { poll, visit }: { readonly poll: Poll; readonly visit: ValueVisitor },
): Sliced<void> {
  for (let start = 0; start < docs.length; start += WINDOW_DOCS) {
    const window = docs.subarray(start, start + WINDOW_DOCS)
    const first = window[0] ?? 0
    const end = (window.at(-1) ?? first) + 1
    if (end - first <= window.length * READ_WASTE_MAX) {
      visitChunk(window, column.read(first, end), visit)
    } else {
      visitEach(window, column, visit)
    }
    if (poll.spend(window.length * VISIT_COST)) yield poll.renewed()
  }
}

function visitChunk(
  window: Uint32Array,
  { values, ends }: ReturnType<ColumnReader['read']>,
  visit: ValueVisitor,
): void {
  const first = window[0] ?? 0
  for (const doc of window) {
    const from = doc === first ? 0 : (ends[doc - first - 1] ?? 0)
    const to = ends[doc - first] ?? 0
    if (to > from) visit(doc, values, from, to)
  }
}

function visitEach(window: Uint32Array, column: ColumnReader, visit: ValueVisitor): void {
  for (const doc of window) {
    const count = column.count(doc)
    if (count === 0) continue
    const values = Float64Array.from({ length: count }, (_, i) => column.value(doc, i))
    visit(doc, values, 0, count)
  }
}
