// All of a segment but its vectors: documents by number, key and ordinal, and their rows. It is read into
// memory as a whole. Format: docs/reference/formats/vector-segment.md.

import { crc32 } from 'node:zlib'
import { must } from '../../../lib/assert.ts'
import type { DocumentTest } from './document-rows.ts'
import { damaged } from './file-sums.ts'
import { firstAtLeast } from './radix-sort.ts'
import { SectionLayout } from './section-layout.ts'

const MAGIC = 0x52565151 // QQVR
const FORMAT_VERSION = 1
const HEADER_BYTES = 64
const FORM_AT = 28
const SCALE_AT = 32
const FIRST_EXPIRY_AT = 40
const ALIGNMENT = 8

/** How many of each there are in a segment. */
export interface TableSizes {
  /** 0 for a segment of sparse vectors, whose table has no sums: they lie with the postings. */
  readonly dimension: number
  readonly docCount: number
  readonly rowCount: number
  readonly keyBytes: number
  /** 0, or the dimension. */
  readonly centerLength: number
}

/** The sections of the table, as views of one buffer. */
export interface TableSections {
  readonly expiries: Float64Array
  readonly ordinals: Uint32Array
  /** One more than documents. */
  readonly firstRows: Uint32Array
  /** One more than documents. */
  readonly keyStarts: Uint32Array
  /** Ascending. */
  readonly hashes: Uint32Array
  /** In the order of `hashes`. */
  readonly docsByHash: Uint32Array
  readonly docsByOrdinal: Uint32Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** The CRC-32 of each vector. */
  readonly sums: Uint32Array
  readonly center: Float32Array
  readonly keys: Uint8Array
}

/** The buffer of a table, with its header, and the sections in it. */
export interface TableBytes {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly sizes: TableSizes
  /** When the first document expires; Infinity if none does. */
  readonly firstExpiryMs: number
  readonly sections: TableSections
}

/** How vectors become the numbers of a graph, the center apart: it is a section. */
export interface CodedBy {
  /** The place of the form among GRAPH_FORMS. */
  readonly form: number
  /** By which vectors are divided. */
  readonly scale: number
}

/** Zeros to be filled in. */
export function newTable(
  sizes: TableSizes,
  { firstExpiryMs }: Pick<TableBytes, 'firstExpiryMs'>,
): TableBytes {
  const bytes = new Uint8Array(layOut(sizes).end)
  const header = new DataView(bytes.buffer)
  const { dimension, docCount, rowCount, keyBytes, centerLength } = sizes
  const words = [MAGIC, FORMAT_VERSION, dimension, docCount, rowCount, keyBytes, centerLength]
  for (const [i, word] of words.entries()) header.setUint32(i * 4, word, true)
  header.setFloat64(SCALE_AT, 1, true)
  header.setFloat64(FIRST_EXPIRY_AT, firstExpiryMs, true)
  return { bytes, sizes, firstExpiryMs, sections: sectionsOf(bytes.buffer, sizes) }
}

/** The graph is made when the rest of the table is known. */
export function setCodedBy({ bytes }: TableBytes, { form, scale }: CodedBy): void {
  const header = new DataView(bytes.buffer)
  header.setUint32(FORM_AT, form, true)
  header.setFloat64(SCALE_AT, scale, true)
}

/** `bytes` begin their buffer and have the sum that they were written with. */
export function readTable(bytes: Uint8Array<ArrayBuffer>, name: string): TableBytes {
  if (bytes.length < HEADER_BYTES) throw damaged(`${name} is cut short`)
  const header = new DataView(bytes.buffer)
  const words = Array.from({ length: 7 }, (_, i) => header.getUint32(i * 4, true))
  const [magic, version, dimension = 0, docCount = 0, rowCount = 0, keyBytes = 0, center = 0] =
    words
  if (magic !== MAGIC || version !== FORMAT_VERSION) throw damaged(`${name} has another format`)
  const sizes = { dimension, docCount, rowCount, keyBytes, centerLength: center }
  if (layOut(sizes).end !== bytes.length) throw damaged(`${name} has another length`)
  const firstExpiryMs = header.getFloat64(FIRST_EXPIRY_AT, true)
  return { bytes, sizes, firstExpiryMs, sections: sectionsOf(bytes.buffer, sizes) }
}

function layOut({ docCount, rowCount, keyBytes, centerLength, ...sizes }: TableSizes) {
  const sumCount = sizes.dimension === 0 ? 0 : rowCount
  const layout = new SectionLayout(HEADER_BYTES, ALIGNMENT)
  const offsets = {
    expiries: layout.place(docCount * 8),
    ordinals: layout.place(docCount * 4),
    firstRows: layout.place((docCount + 1) * 4),
    keyStarts: layout.place((docCount + 1) * 4),
    hashes: layout.place(docCount * 4),
    docsByHash: layout.place(docCount * 4),
    docsByOrdinal: layout.place(docCount * 4),
    starts: layout.place(rowCount * 4),
    ends: layout.place(rowCount * 4),
    sums: layout.place(sumCount * 4),
    center: layout.place(centerLength * 4),
    keys: layout.place(keyBytes),
  }
  return { offsets, sumCount, end: layout.end }
}

function sectionsOf(buffer: ArrayBuffer, sizes: TableSizes): TableSections {
  const { docCount, rowCount, keyBytes, centerLength } = sizes
  const { offsets, sumCount } = layOut(sizes)
  const words = (at: number, count: number): Uint32Array => new Uint32Array(buffer, at, count)
  return {
    expiries: new Float64Array(buffer, offsets.expiries, docCount),
    ordinals: words(offsets.ordinals, docCount),
    firstRows: words(offsets.firstRows, docCount + 1),
    keyStarts: words(offsets.keyStarts, docCount + 1),
    hashes: words(offsets.hashes, docCount),
    docsByHash: words(offsets.docsByHash, docCount),
    docsByOrdinal: words(offsets.docsByOrdinal, docCount),
    starts: words(offsets.starts, rowCount),
    ends: words(offsets.ends, rowCount),
    sums: words(offsets.sums, sumCount),
    center: new Float32Array(buffer, offsets.center, centerLength),
    keys: new Uint8Array(buffer, offsets.keys, keyBytes),
  }
}

/** Keys with one hash lie together in the table. */
export function hashOfKey(key: Uint8Array): number {
  return crc32(key)
}

/** Looks documents up. */
export class RowTable {
  readonly byteLength: number
  readonly sizes: TableSizes
  readonly codedBy: CodedBy
  readonly firstExpiryMs: number
  readonly sections: TableSections

  constructor({ bytes, sizes, firstExpiryMs, sections }: TableBytes) {
    const header = new DataView(bytes.buffer)
    this.byteLength = bytes.length
    this.sizes = sizes
    this.codedBy = {
      form: header.getUint32(FORM_AT, true),
      scale: header.getFloat64(SCALE_AT, true),
    }
    this.firstExpiryMs = firstExpiryMs
    this.sections = sections
  }

  keyOf(doc: number): Uint8Array {
    const { keys, keyStarts } = this.sections
    return keys.subarray(must(keyStarts[doc], 'a document'), keyStarts[doc + 1])
  }

  docOfRow(row: number): number {
    const { docCount, rowCount } = this.sizes
    if (docCount === rowCount) return row
    return firstAtLeast(this.sections.firstRows, row + 1) - 1
  }

  docOf(key: Uint8Array, isDeleted: DocumentTest): number {
    const { hashes, docsByHash } = this.sections
    const hash = hashOfKey(key)
    for (let at = firstAtLeast(hashes, hash); hashes[at] === hash; at += 1) {
      const doc = docsByHash[at] ?? 0
      if (!isDeleted(doc) && Buffer.compare(this.keyOf(doc), key) === 0) return doc
    }
    return -1
  }

  docOfOrdinal(ordinal: number, isDeleted: DocumentTest): number {
    const { docsByOrdinal, ordinals } = this.sections
    let low = 0
    let high = docsByOrdinal.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((ordinals[docsByOrdinal[middle] ?? 0] ?? 0) < ordinal) low = middle + 1
      else high = middle
    }
    for (let at = low; at < docsByOrdinal.length; at += 1) {
      const doc = docsByOrdinal[at] ?? 0
      if (ordinals[doc] !== ordinal) return -1
      if (!isDeleted(doc)) return doc
    }
    return -1
  }
}
