// Evaluates queries without scores as sets of documents of a segment.

import { assert } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQueryOf, Expansion, TermMatcher } from '../engine-query.ts'
import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import type { ColumnReader } from '../segment/column.ts'
import { docsWithField } from '../segment/field-documents.ts'
import type { Segment, SegmentField } from '../segment/segment.ts'
import { newBitset, setBit, setBits, type Bitset } from '../../encoding/bitset.ts'
import { rangeTest, type ColumnTest } from './column-test.ts'
import type { Poll } from '../poll.ts'
import { TermWalk } from './term-walk.ts'

const DOCS_PER_CHUNK = 4096
const NO_BYTES = new Uint8Array(0)

/** The costs of finding a term's postings, and of finding a key. */
const POSTINGS_COST = 64
const KEY_COST = 256

export type FieldExpansion = Expansion & { readonly field: string }
/**
 * Fewer terms are gathered from their postings, which is faster than a walk of the whole column.
 */
const COLUMN_TERMS_MIN = 64

export function* expandedSet(
  segment: Segment,
  query: EngineQueryOf<'expand'>,
  poll: Poll,
): Sliced<Bitset> {
  const bits = newBitset(segment.docCount)
  const field = segment.field(query.field)
  // Only the closest terms score in another field, and without scores nobody asks for them.
  if (field === undefined || query.scoredIn !== undefined) return bits
  yield* field.prepareTerms()
  const { terms } = query.matcher
  if (terms !== undefined) return yield* listedSet({ field, terms, bits }, poll)
  const range = ordinalsOf(field, query.matcher)
  if (range !== undefined) return yield* columnSet(segment, range, poll)
  const docs = new Uint32Array(BLOCK_LENGTH)
  const walk = new TermWalk(field, query.matcher, poll)
  for (let entry = walk.next(); entry !== 'end'; entry = walk.next()) {
    if (entry === 'pause') {
      yield poll.renewed()
      continue
    }
    const source = field.postings(entry)
    for (let block = 0; block < source.blockCount; block += 1) {
      const count = source.decodeDocs(block, docs)
      setBits(bits, docs, count)
      if (poll.spend(count + POSTINGS_COST)) yield poll.renewed()
    }
  }
  return bits
}

/** Adds the documents with a term of the list. */
function* listedSet(
  list: {
    readonly field: SegmentField
    readonly terms: ReadonlySet<string>
    readonly bits: Bitset
  },
  poll: Poll,
): Sliced<Bitset> {
  const { field, terms, bits } = list
  const docs = new Uint32Array(BLOCK_LENGTH)
  for (const term of terms) {
    const entry = field.find(term)
    if (poll.spend(KEY_COST)) yield poll.renewed()
    if (entry === undefined) continue
    const source = field.postings(entry)
    for (let block = 0; block < source.blockCount; block += 1) {
      const count = source.decodeDocs(block, docs)
      setBits(bits, docs, count)
      if (poll.spend(count + POSTINGS_COST)) yield poll.renewed()
    }
  }
  return bits
}

/**
 * The ordinals of a range of keywords: a range of the column's numbers, without a look at terms.
 */
function ordinalsOf(field: SegmentField, { range }: TermMatcher) {
  const { column } = field
  if (range === undefined || column?.kind !== 'keyword') return undefined
  const first = column.ordinalOf(range.from)
  const end = range.to === undefined ? column.ordinalCount : column.ordinalOf(range.to)
  if (end - first < COLUMN_TERMS_MIN) return undefined
  return { column, test: rangeTest({ min: first, max: end - 1 }) }
}

/** The terms of the whole index that match. Refuses more than the query allows. */
export function* matchingTerms(
  segments: Iterable<Segment>,
  query: FieldExpansion,
  poll: Poll,
): Sliced<ReadonlySet<string>> {
  const terms = new Set<string>()
  for (const segment of segments) {
    const field = segment.field(query.field)
    if (field === undefined) continue
    yield* field.prepareTerms()
    const walk = new TermWalk(field, query.matcher, poll)
    for (let entry = walk.next(); entry !== 'end'; entry = walk.next()) {
      if (entry === 'pause') {
        yield poll.renewed()
        continue
      }
      terms.add(entry.text)
      if (terms.size > query.termsMax) throw tooManyTerms(query)
    }
  }
  return terms
}

function tooManyTerms({ shown, termsMax, field }: FieldExpansion): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `${shown} matches more than ${termsMax} terms of field ${field}; make it more specific`,
  )
}

/** The documents with a word in a text field, or with a value in another field. */
export function* fieldSet(segment: Segment, name: string, poll: Poll): Sliced<Bitset> {
  const field = segment.field(name)
  const bits = newBitset(segment.docCount)
  if (field === undefined) return bits
  const dense = field.norms?.dense ?? NO_BYTES
  for (let from = 0; from < dense.length; from += DOCS_PER_CHUNK) {
    const to = Math.min(from + DOCS_PER_CHUNK, dense.length)
    for (let doc = from; doc < to; doc += 1) if ((dense[doc] ?? 0) > 0) setBit(bits, doc)
    if (poll.spend(to - from)) yield poll.renewed()
  }
  if (dense.length > 0) return bits
  for (const docs of docsWithField(field, segment.docCount)) {
    setBits(bits, docs, docs.length)
    if (poll.spend(DOCS_PER_CHUNK)) yield poll.renewed()
  }
  return bits
}

export function* columnSet(
  segment: Segment,
  { column, test }: { readonly column: ColumnReader | undefined; readonly test: ColumnTest },
  poll: Poll,
): Sliced<Bitset> {
  const bits = newBitset(segment.docCount)
  if (column === undefined) return bits
  for (let from = 0; from < segment.docCount; from += DOCS_PER_CHUNK) {
    const to = Math.min(from + DOCS_PER_CHUNK, segment.docCount)
    const chunk = column.read(from, to)
    test.addPassing(bits, from, chunk)
    if (poll.spend(to - from + chunk.values.length)) yield poll.renewed()
  }
  return bits
}

export function* keySet(segment: Segment, keys: readonly Uint8Array[], poll: Poll): Sliced<Bitset> {
  const bits = newBitset(segment.docCount)
  for (const key of keys) {
    const doc = segment.docOf(keyText(key))
    if (doc >= 0) setBit(bits, doc)
    if (poll.spend(KEY_COST)) yield poll.renewed()
  }
  return bits
}

export function* keyPrefixSet(segment: Segment, prefix: Uint8Array, poll: Poll): Sliced<Bitset> {
  const bits = newBitset(segment.docCount)
  segment.docsWithPrefix(keyText(prefix), (doc) => setBit(bits, doc))
  if (poll.spend(segment.docCount / 8)) yield poll.renewed()
  return bits
}

/** The column of a field of numbers or points; undefined if no document of the segment has it. */
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
