// One field of a memory segment, for the writer and for the readers beside it.
//
// Invariants:
//   F1  The data of documents below a number does not change when later documents are added, so
//       that a view below that number needs no copy. Only the ranks of terms change: a view takes
//       the ranks that it uses once.

import { assert, unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { TermTable } from '../encoding/term-table.ts'
import type { IndexableField, TokenChunk, TokenSequence } from '../indexable-document.ts'
import type { ColumnReader } from './column.ts'
import type { DictionaryEntry } from './dictionary.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import { MemoryColumn, MemoryColumnReader } from './memory-column.ts'
import { MemoryNorms } from './memory-norms.ts'
import { MemoryPostingsPool, type ReaderCount } from '../postings/memory-postings.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import type { SegmentField, SegmentFieldKind } from './segment.ts'
import { byteOfLength, lengthOfByte } from '../encoding/small-float.ts'
import type { DocumentPostings } from '../postings/document-postings.ts'
import { FieldTerms } from './field-terms.ts'
import { NO_TERM, type TermMap } from './term-map.ts'
import { TextOrder, type TextRanks } from './text-order.ts'

/** A rough price of a field without documents: its objects and the arrays that are not full yet. */
const FIELD_BYTES = 2048
/** About a millisecond of work. */
const VALUES_PER_STEP = 4096

/** What a memory segment shares among its fields: a document is added to one field after the other. */
export interface FieldOwner extends ReaderCount {
  /** The field that is being added. */
  readonly adding: DocumentPostings
}

/**
 * One field of a memory segment. Only `MemorySegment` adds to it, each document in one call and in
 * ascending order.
 */
export class MemoryField {
  readonly name: string
  readonly kind: SegmentFieldKind
  docCount = 0
  totalLength = 0
  readonly #norms = new MemoryNorms()
  readonly #column: MemoryColumn | undefined
  /** The terms of a text field. */
  readonly #words = new FieldTerms()
  /** The terms of a keyword field, which are its values. */
  readonly #keywords = new TermTable()
  readonly #texts: readonly string[]
  readonly #postings: MemoryPostingsPool
  readonly #adding: DocumentPostings
  readonly #order: TextOrder
  #lastDoc = -1

  constructor(name: string, kind: SegmentFieldKind, segment: FieldOwner) {
    this.name = name
    this.kind = kind
    this.#adding = segment.adding
    this.#column = kind === 'text' ? undefined : new MemoryColumn(kind)
    this.#postings = new MemoryPostingsPool(segment)
    this.#texts = kind === 'text' ? this.#words.texts : this.#keywords.texts
    this.#order = new TextOrder(this.#texts)
  }

  get bytes(): number {
    const columnBytes = this.#column?.bytes ?? 0
    const termBytes = this.#words.bytes + this.#keywords.bytes
    return FIELD_BYTES + this.#norms.bytes + this.#postings.bytes + termBytes + columnBytes
  }

  /** Adds the field of a document. Documents ascend, and each has the field at most once. */
  *add(doc: number, field: IndexableField): Sliced<void> {
    assert(field.kind === this.kind, `the kind of field ${this.name} is the same everywhere`)
    assert(doc > this.#lastDoc, `a document has field ${this.name} once`)
    this.#lastDoc = doc
    switch (field.kind) {
      case 'text':
        return yield* this.#addText(doc, field.tokens, field.length)
      case 'keyword':
        return yield* this.#addKeywords(doc, field.values)
      case 'number':
        for (const value of Float64Array.from(field.values).toSorted()) this.#column?.push(value)
        return this.#column?.end(doc)
      case 'point':
        for (const { lon, lat } of field.values) {
          this.#column?.push(lon)
          this.#column?.push(lat)
        }
        return this.#column?.end(doc)
      default:
        return unreachable(field)
    }
  }

  /** The field of the documents below `docEnd`. */
  view(docEnd: number): SegmentField {
    return new MemoryFieldView(this, docEnd)
  }

  // ---- For views

  /** The norms of the documents below `docEnd`; undefined unless the field is text. */
  normsBelow(docEnd: number): FieldNorms | undefined {
    return this.kind === 'text' ? this.#norms.below(docEnd) : undefined
  }

  /** Visits the norms of the documents at or behind `docEnd` that have the field. */
  forEachNormFrom(docEnd: number, visit: (byte: number) => void): void {
    this.#norms.forEachFrom(docEnd, visit)
  }

  newColumnReader(docEnd: number): ColumnReader | undefined {
    if (this.#column === undefined) return undefined
    return new MemoryColumnReader(this.#column, docEnd, () => this.ranks())
  }

  /** The ranks of all present terms. */
  ranks(): TextRanks {
    return this.#order.ranks()
  }

  /** The work of `ranks`, in slices. */
  sortTerms(): Sliced<void> {
    return this.#order.update()
  }

  numberOf(term: string): number | undefined {
    return this.kind === 'text' ? this.#words.find(term) : this.#keywords.find(term)
  }

  /** The entry of the term with this number. It counts only documents below `docEnd`. */
  entry(id: number, docEnd: number): DictionaryEntry {
    const docFreq = this.#postings.docFreqBelow(id, docEnd)
    return { text: this.#texts[id] ?? '', ordinal: id, docFreq, offset: 0, length: 0 }
  }

  postings({ ordinal, docFreq }: DictionaryEntry): PostingsSource {
    return this.#postings.source(ordinal, docFreq)
  }

  // ---- Adding

  *#addKeywords(doc: number, values: readonly string[]): Sliced<void> {
    const seen = new Set<number>()
    for (let i = 0; i < values.length; i += 1) {
      if (i % VALUES_PER_STEP === VALUES_PER_STEP - 1) yield
      const term = this.#keywords.numberOf(values[i] ?? '')
      if (term === this.#postings.termCount) this.#postings.newTerm()
      if (seen.has(term)) continue
      seen.add(term)
      this.#postings.addOnce(term, doc, 0)
      this.#column?.push(term)
    }
    this.#column?.end(doc)
  }

  *#addText(doc: number, { chunks, terms }: TokenSequence, length: number): Sliced<void> {
    const adding = this.#adding
    adding.begin()
    const map = this.#words.begin(terms)
    for (const [i, chunk] of chunks.entries()) {
      if (i > 0) yield
      this.#countTerms(chunk, map)
    }
    for (let from = 0; from < adding.termCount; from += VALUES_PER_STEP) {
      if (from > 0) yield
      this.#addPostings(doc, from)
    }
    if (adding.hasRepeated) yield* adding.writePositions(chunks, this.#postings)
    this.#setNorm(doc, byteOfLength(length))
  }

  #countTerms({ length, pairs }: TokenChunk, map: TermMap): void {
    const adding = this.#adding
    adding.reserve(length)
    for (let i = 0; i < length; i += 1) {
      const given = pairs[2 * i] ?? 0
      const known = map.get(given)
      const term = known === NO_TERM ? this.#learn(given, map) : known
      const slot = this.#postings.slot(term)
      if (slot === 0) this.#postings.setSlot(term, adding.addTerm(term, pairs[2 * i + 1] ?? 0))
      else adding.addAgain(slot)
    }
  }

  #learn(given: number, map: TermMap): number {
    const { number, isNew } = this.#words.add(map, given)
    if (isNew) this.#postings.newTerm()
    return number
  }

  #addPostings(doc: number, from: number): void {
    const adding = this.#adding
    const to = Math.min(from + VALUES_PER_STEP, adding.termCount)
    for (let i = from; i < to; i += 1) {
      const term = adding.term(i)
      const freq = adding.freq(i)
      if (freq === 1) this.#postings.addOnce(term, doc, adding.position(i))
      else adding.setPlace(i, this.#postings.addOften(term, doc, freq))
      this.#postings.setSlot(term, 0)
    }
  }

  #setNorm(doc: number, byte: number): void {
    if (byte === 0) return
    this.#norms.add(doc, byte)
    this.docCount += 1
    this.totalLength += lengthOfByte(byte)
  }
}

class MemoryFieldView implements SegmentField {
  readonly name: string
  readonly kind: SegmentFieldKind
  readonly column: ColumnReader | undefined
  readonly #field: MemoryField
  readonly #docEnd: number
  #norms: FieldNorms | undefined
  #totals: { readonly docCount: number; readonly totalLength: number } | undefined

  constructor(field: MemoryField, docEnd: number) {
    this.name = field.name
    this.kind = field.kind
    this.column = field.newColumnReader(docEnd)
    this.#field = field
    this.#docEnd = docEnd
  }

  get norms(): FieldNorms | undefined {
    this.#norms ??= this.#field.normsBelow(this.#docEnd)
    return this.#norms
  }

  get docCount(): number {
    return this.#count().docCount
  }

  get totalLength(): number {
    return this.#count().totalLength
  }

  find(term: string): DictionaryEntry | undefined {
    const id = this.#field.numberOf(term)
    if (id === undefined) return undefined
    const entry = this.#field.entry(id, this.#docEnd)
    return entry.docFreq === 0 ? undefined : entry
  }

  *entriesFrom(term: string): Generator<DictionaryEntry, void> {
    const ranks = this.#field.ranks()
    const { sorted } = ranks
    for (let rank = ranks.lowerBound(term); rank < sorted.length; rank += 1) {
      yield this.#field.entry(sorted[rank] ?? 0, this.#docEnd)
    }
  }

  prepareTerms(): Sliced<void> {
    return this.#field.sortTerms()
  }

  postings(entry: DictionaryEntry): PostingsSource {
    return this.#field.postings(entry)
  }

  /** The counts of the whole field without those of later documents. */
  #count(): { readonly docCount: number; readonly totalLength: number } {
    if (this.#totals !== undefined) return this.#totals
    let { docCount, totalLength } = this.#field
    this.#field.forEachNormFrom(this.#docEnd, (byte) => {
      docCount -= 1
      totalLength -= lengthOfByte(byte)
    })
    this.#totals = { docCount, totalLength }
    return this.#totals
  }
}
