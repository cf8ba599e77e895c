// The file of a segment's lists, but for its codes: rows that lie near to each other share a list, and each row
// is as many small integers as a vector has numbers. Format: docs/reference/formats/vector-segment.md.

import { strideOf } from '../kernels/code-memory.ts'
import type { QuantizerRange } from '../graph/quantizer.ts'
import { damaged } from '../../rows/file-sums.ts'
import { SectionLayout } from '../../rows/section-layout.ts'

const MAGIC = 0x4c565151 // QQVL
const FORMAT_VERSION = 1
const HEADER_BYTES = 64
const SCALE_AT = 32
const ALIGNMENT = 16

/** How many of each there are. */
export interface ListSizes {
  readonly dimension: number
  readonly rowCount: number
  readonly listCount: number
  /** How many rows there were when the centers were chosen. */
  readonly trainedCount: number
  /** 0, or the dimension. */
  readonly centerLength: number
}

/** The part of the file before the codes. */
export interface ListsTable {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly sizes: ListSizes
  /** How vectors become small integers. */
  readonly range: QuantizerRange
  /** One more than lists: the rows of list l are those from `[l]` up to `[l+1]` of `rows`. */
  readonly starts: Uint32Array
  /** The numbers of the rows, list by list, ascending in each. Their codes have the same order. */
  readonly rows: Uint32Array
}

/** Where the codes begin: those of the centers, one for each list, and then those of the rows. */
export function codesAtOf(sizes: ListSizes): number {
  return layOut(sizes).end
}

/** The bytes of all codes. */
export function codesBytesOf({ dimension, listCount, rowCount }: ListSizes): number {
  return strideOf(dimension) * (listCount + rowCount)
}

/** To be filled in. */
export function newListsTable(
  counts: Omit<ListSizes, 'centerLength'>,
  { center, scale }: QuantizerRange,
): ListsTable {
  const sizes = { ...counts, centerLength: center.length }
  const bytes = new Uint8Array(layOut(sizes).end)
  const header = new DataView(bytes.buffer)
  const { dimension, rowCount, listCount, trainedCount, centerLength } = sizes
  const words = [MAGIC, FORMAT_VERSION, dimension, rowCount, listCount, trainedCount, centerLength]
  for (const [i, word] of words.entries()) header.setUint32(i * 4, word, true)
  header.setFloat64(SCALE_AT, scale, true)
  const table = tableOf(bytes, sizes)
  table.range.center.set(center)
  return table
}

/** The length of the table, from its first bytes: at least LISTS_HEADER_BYTES of them. */
export function readListSizes(head: Uint8Array<ArrayBuffer>, name: string): ListSizes {
  if (head.length < HEADER_BYTES) throw damaged(`${name} is cut short`)
  const header = new DataView(head.buffer)
  const words = Array.from({ length: 7 }, (_, i) => header.getUint32(i * 4, true))
  const [magic, version, dimension = 0, rowCount = 0, listCount = 0, trained = 0, center = 0] =
    words
  if (magic !== MAGIC || version !== FORMAT_VERSION) throw damaged(`${name} has another format`)
  return { dimension, rowCount, listCount, trainedCount: trained, centerLength: center }
}

export const LISTS_HEADER_BYTES = HEADER_BYTES

/** `bytes` begin their buffer and end where the codes begin. */
export function readListsTable(bytes: Uint8Array<ArrayBuffer>, name: string): ListsTable {
  return tableOf(bytes, readListSizes(bytes, name))
}

function tableOf(bytes: Uint8Array<ArrayBuffer>, sizes: ListSizes): ListsTable {
  const { offsets } = layOut(sizes)
  const { buffer } = bytes
  const center = new Float32Array(buffer, offsets.center, sizes.centerLength)
  return {
    bytes,
    sizes,
    range: { center, scale: new DataView(buffer).getFloat64(SCALE_AT, true) },
    starts: new Uint32Array(buffer, offsets.starts, sizes.listCount + 1),
    rows: new Uint32Array(buffer, offsets.rows, sizes.rowCount),
  }
}

function layOut({ rowCount, listCount, centerLength }: ListSizes) {
  const layout = new SectionLayout(HEADER_BYTES, ALIGNMENT)
  const offsets = {
    center: layout.place(centerLength * 4),
    starts: layout.place((listCount + 1) * 4),
    rows: layout.place(rowCount * 4),
  }
  return { offsets, end: layout.end }
}
