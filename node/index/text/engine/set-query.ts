// Queries that only say yes or no, as sets of documents of a segment.

import { assert } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { EngineQuery } from '../engine-query.ts'
import { BLOCK_LENGTH } from '../segment/bit-packing.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { DictionaryEntry } from '../segment/dictionary.ts'
import type { Segment, SegmentField } from '../segment/segment.ts'
import { newBitset, setBit, type Bitset } from './bitset.ts'
import type { Poll } from './poll.ts'

const DOCS_PER_CHUNK = 4096

type QueryOf<Kind extends EngineQuery['kind']> = Extract<EngineQuery, { kind: Kind }>

export function expandedSet(segment: Segment, query: QueryOf<'expand'>, poll: Poll): Bitset {
  const bits = newBitset(segment.docCount)
  const field = segment.field(query.field)
  if (field === undefined) return bits
  const docs = new Uint32Array(BLOCK_LENGTH)
  for (const entry of matchingEntries(field, query, poll)) {
    const source = field.postings(entry)
    for (let block = 0; block < source.blockCount; block += 1) {
      const count = source.decodeDocs(block, docs)
      for (let i = 0; i < count; i += 1) setBit(bits, docs[i] ?? 0)
      poll.spend(count)
    }
  }
  return bits
}

/** The terms of one segment that match. Which of them count is decided over all segments. */
function* matchingEntries(
  field: SegmentField,
  { matcher }: QueryOf<'expand'>,
  poll: Poll,
): Generator<DictionaryEntry, void> {
  const { prefix, upTo } = matcher
  for (const entry of field.entriesFrom(prefix)) {
    if (!entry.text.startsWith(prefix)) return
    if (upTo !== undefined && entry.text > upTo) return
    poll.spend(4)
    if (matcher.matches(entry.text)) yield entry
  }
}

/** Refuses a query with more terms in the whole index than it allows. */
export function checkExpansion(
  segments: Iterable<Segment>,
  query: QueryOf<'expand'>,
  poll: Poll,
): void {
  const terms = new Set<string>()
  for (const segment of segments) {
    const field = segment.field(query.field)
    if (field === undefined) continue
    for (const { text } of matchingEntries(field, query, poll)) {
      terms.add(text)
      if (terms.size <= query.termsMax) continue
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `${query.shown} matches more than ${query.termsMax} terms of field ${query.field}; ` +
          'make it more specific',
      )
    }
  }
}

export function rangeSet(segment: Segment, query: QueryOf<'range'>, poll: Poll): Bitset {
  const bits = newBitset(segment.docCount)
  const column = columnOf(segment, query.field)
  if (column === undefined) return bits
  for (let from = 0; from < segment.docCount; from += DOCS_PER_CHUNK) {
    const to = Math.min(from + DOCS_PER_CHUNK, segment.docCount)
    const { values, ends } = column.read(from, to)
    poll.spend(to - from)
    let i = 0
    for (let doc = from; doc < to; doc += 1) {
      const end = ends[doc - from] ?? 0
      if (hasBetween(values, { from: i, to: end }, query)) setBit(bits, doc)
      i = end
    }
  }
  return bits
}

/** A box whose west is greater than its east crosses the antimeridian. */
export function areaSet(segment: Segment, query: QueryOf<'area'>, poll: Poll): Bitset {
  const bits = newBitset(segment.docCount)
  const column = columnOf(segment, query.field)
  if (column === undefined) return bits
  for (let from = 0; from < segment.docCount; from += DOCS_PER_CHUNK) {
    const to = Math.min(from + DOCS_PER_CHUNK, segment.docCount)
    const { values, ends } = column.read(from, to)
    poll.spend(to - from)
    let i = 0
    for (let doc = from; doc < to; doc += 1) {
      const end = ends[doc - from] ?? 0
      if (hasInside(values, { from: i, to: end }, query)) setBit(bits, doc)
      i = end
    }
  }
  return bits
}

interface Slice {
  readonly from: number
  readonly to: number
}

function hasBetween(values: Float64Array, { from, to }: Slice, query: QueryOf<'range'>): boolean {
  for (let i = from; i < to; i += 1) {
    const value = values[i] ?? 0
    if (value >= query.min && value <= query.max) return true
  }
  return false
}

function hasInside(values: Float64Array, { from, to }: Slice, query: QueryOf<'area'>): boolean {
  for (let i = from; i < to; i += 2) {
    const lon = values[i] ?? 0
    const lat = values[i + 1] ?? 0
    if (isInBox(query.box, lon, lat) && query.contains(lon, lat)) return true
  }
  return false
}

function isInBox(box: QueryOf<'area'>['box'], lon: number, lat: number): boolean {
  if (lat < box.south || lat > box.north) return false
  if (box.west <= box.east) return lon >= box.west && lon <= box.east
  return lon >= box.west || lon <= box.east
}

export function keySet(segment: Segment, keys: readonly string[]): Bitset {
  const bits = newBitset(segment.docCount)
  for (const key of keys) {
    const doc = segment.docOf(key)
    if (doc >= 0) setBit(bits, doc)
  }
  return bits
}

export function keyPrefixSet(segment: Segment, prefix: string): Bitset {
  const bits = newBitset(segment.docCount)
  segment.docsWithPrefix(prefix, (doc) => setBit(bits, doc))
  return bits
}

function columnOf(segment: Segment, name: string): ColumnReader | undefined {
  const field = segment.field(name)
  if (field === undefined) return undefined
  assert(field.column !== undefined && field.kind !== 'keyword', `field ${name} holds numbers`)
  return field.column
}

/** Keys inside the engine: one code unit a byte. */
export function keyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}

export function keyBytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'latin1'))
}
