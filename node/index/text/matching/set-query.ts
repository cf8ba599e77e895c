// Queries that only say yes or no, as sets of documents of a segment.

import { assert } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { EngineQuery, Expansion } from '../engine-query.ts'
import { BLOCK_LENGTH } from '../postings/bit-packing.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { DictionaryEntry } from '../segment/dictionary.ts'
import type { Segment, SegmentField } from '../segment/segment.ts'
import { newBitset, setBit, type Bitset } from '../engine/bitset.ts'
import { f64At, u32At } from './bulk-search.ts'
import type { Poll } from '../engine/poll.ts'

const DOCS_PER_CHUNK = 4096

export type FieldExpansion = Expansion & { readonly field: string }
export type QueryOf<Kind extends EngineQuery['kind']> = Extract<EngineQuery, { kind: Kind }>

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
  { matcher }: FieldExpansion,
  poll: Poll,
): Generator<DictionaryEntry, void> {
  const { prefix, upTo, cost = 4 } = matcher
  for (const entry of field.entriesFrom(prefix)) {
    if (!entry.text.startsWith(prefix)) return
    if (upTo !== undefined && entry.text > upTo) return
    poll.spend(cost)
    if (matcher.matches(entry.text)) yield entry
  }
}

/** The terms of the whole index that match. Refuses more than the query allows. */
export function matchingTerms(
  segments: Iterable<Segment>,
  query: FieldExpansion,
  poll: Poll,
): ReadonlySet<string> {
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
  return terms
}

/** Whether one of the values from `from` to `to` (not included) of a column is what is asked for. */
export type ValueTest = (values: Float64Array, from: number, to: number) => boolean

/** Queries about the values of a column. */
export type ColumnQuery = QueryOf<'range' | 'area'>

export function testOf(query: ColumnQuery): ValueTest {
  return query.kind === 'range' ? rangeTest(query) : areaTest(query)
}

function rangeTest({ min, max }: QueryOf<'range'>): ValueTest {
  return (values, from, to) => {
    for (let i = from; i < to; i += 1) {
      const value = f64At(values, i)
      if (value >= min && value <= max) return true
    }
    return false
  }
}

/** A box whose west is greater than its east crosses the antimeridian. */
function areaTest(query: QueryOf<'area'>): ValueTest {
  const { box } = query
  return (values, from, to) => {
    for (let i = from; i < to; i += 2) {
      const lon = f64At(values, i)
      const lat = f64At(values, i + 1)
      if (isInBox(box, lon, lat) && query.contains(lon, lat)) return true
    }
    return false
  }
}

/** Of text the documents with a word, of other fields those with a value. */
export function fieldSet(segment: Segment, name: string, poll: Poll): Bitset {
  const field = segment.field(name)
  if (field?.column !== undefined) {
    return columnSet(segment, { column: field.column, test: (_, from, to) => from < to }, poll)
  }
  const bits = newBitset(segment.docCount)
  for (const [doc, norm] of field?.norms?.entries() ?? []) if (norm > 0) setBit(bits, doc)
  return bits
}

export function columnSet(
  segment: Segment,
  { column, test }: { readonly column: ColumnReader | undefined; readonly test: ValueTest },
  poll: Poll,
): Bitset {
  const bits = newBitset(segment.docCount)
  if (column === undefined) return bits
  for (let from = 0; from < segment.docCount; from += DOCS_PER_CHUNK) {
    const to = Math.min(from + DOCS_PER_CHUNK, segment.docCount)
    const { values, ends } = column.read(from, to)
    poll.spend(to - from)
    let i = 0
    for (let doc = from; doc < to; doc += 1) {
      const end = u32At(ends, doc - from)
      if (test(values, i, end)) setBit(bits, doc)
      i = end
    }
  }
  return bits
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

/** Of numbers or points; undefined if no document of the segment has the field. */
export function columnOf(segment: Segment, name: string): ColumnReader | undefined {
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
  return new Uint8Array(Buffer.from(text, 'latin1'))
}
