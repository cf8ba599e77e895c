// One field of a memory segment, for the writer and for the readers beside it.
//
// Invariants:
//   F1  The data of documents below a number does not change when later documents are added, so
//       that a view below that number needs no copy. Only the ranks of terms change: a view takes
//       the ranks that it uses once.

import { assert, unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { IndexableField, TokenSequence } from '../indexable-document.ts'
import type { ColumnReader } from './column.ts'
import type { DictionaryEntry } from './dictionary.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import { GrowableUint32 } from '../../encoding/growable.ts'
import { MemoryColumn, MemoryColumnReader } from './memory-column.ts'
import { MemoryNorms } from './memory-norms.ts'
import { MemoryPostingsPool, type ReaderCount } from '../postings/memory-postings.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import type { SegmentField, SegmentFieldKind } from './segment.ts'
import { byteOfLength, lengthOfByte } from '../encoding/small-float.ts'
import { TermNumbers } from './term-numbers.ts'
import { TextOrder, type TextRanks } from './text-order.ts'

/** A rough price of a term without its characters: the map's entry, and the arrays beside it. */
const TERM_BYTES = 120
/** A rough price of a field without documents: its objects and the arrays that are not full yet. */
const FIELD_BYTES = 2048
/** About a millisecond of work. */
const VALUES_PER_STEP = 4096

/** What a memory segment shares among its fields: a document is added to one field after the other. */
export interface FieldOwner extends ReaderCount {
  /** The terms of the tokens, and the distinct terms, of the field that is being added. */
  readonly tokenTerms: GrowableUint32
  readonly docTerms: GrowableUint32
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
  readonly #terms = new TermNumbers()
  readonly #texts: string[] = []
  /** The characters of all terms, counted as one byte each. */
  #textBytes = 0
  readonly #postings: MemoryPostingsPool
  /** The frequency and the next free position by term, of the document that is being added. */
  readonly #freqs = new GrowableUint32()
  readonly #nextPositions = new GrowableUint32()
  readonly #tokenTerms: GrowableUint32
  readonly #docTerms: GrowableUint32
  readonly #order = new TextOrder(this.#texts)
  #lastDoc = -1

  constructor(name: string, kind: SegmentFieldKind, segment: FieldOwner) {
    this.name = name
    this.kind = kind
    this.#tokenTerms = segment.tokenTerms
    this.#docTerms = segment.docTerms
    this.#column = kind === 'text' ? undefined : new MemoryColumn(kind)
    this.#postings = new MemoryPostingsPool(segment)
  }

  get bytes(): number {
    const columnBytes = this.#column?.bytes ?? 0
    const termBytes = this.#texts.length * TERM_BYTES + this.#textBytes
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
    return this.#terms.get(term)
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

  #termOf(text: string): number {
    const known = this.#terms.get(text)
    if (known !== undefined) return known
    // UTF-8 has no lone surrogates: they become U+FFFD before two terms can become one.
    const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
    const twin = this.#terms.get(wellFormed)
    if (twin !== undefined) return twin
    const id = this.#texts.length
    this.#terms.set(wellFormed, id)
    this.#texts.push(wellFormed)
    this.#textBytes += wellFormed.length
    this.#postings.newTerm()
    this.#freqs.push(0)
    this.#nextPositions.push(0)
    return id
  }

  *#addKeywords(doc: number, values: readonly string[]): Sliced<void> {
    const seen = new Set<number>()
    for (let i = 0; i < values.length; i += 1) {
      if (i % VALUES_PER_STEP === VALUES_PER_STEP - 1) yield
      const term = this.#termOf(values[i] ?? '')
      if (seen.has(term)) continue
      seen.add(term)
      this.#postings.add(term, doc, 1)
      this.#column?.push(term)
    }
    this.#column?.end(doc)
  }

  *#addText(doc: number, tokens: TokenSequence, length: number): Sliced<void> {
    this.#docTerms.length = 0
    this.#tokenTerms.length = 0
    this.#tokenTerms.reserve(tokens.length)
    for (let from = 0; from < tokens.length; from += VALUES_PER_STEP) {
      if (from > 0) yield
      this.#countTerms(tokens, from)
    }
    for (let from = 0; from < this.#docTerms.length; from += VALUES_PER_STEP) {
      if (from > 0) yield
      this.#addPostings(doc, from)
    }
    for (let from = 0; from < tokens.length; from += VALUES_PER_STEP) {
      if (from > 0) yield
      this.#addPositions(tokens, from)
    }
    this.#setNorm(doc, byteOfLength(length))
  }

  /** Fills `tokenTerms`, the distinct `docTerms`, and `freqs`. */
  #countTerms(tokens: TokenSequence, from: number): void {
    let i = from
    for (const token of tokens.slice(from, from + VALUES_PER_STEP)) {
      const term = this.#termOf(token.term)
      this.#tokenTerms.values[i] = term
      i += 1
      const freq = this.#freqs.values[term] ?? 0
      this.#freqs.values[term] = freq + 1
      if (freq === 0) this.#docTerms.push(term)
    }
  }

  #addPostings(doc: number, from: number): void {
    const docTerms = this.#docTerms.values
    const to = Math.min(from + VALUES_PER_STEP, this.#docTerms.length)
    for (let i = from; i < to; i += 1) {
      const term = docTerms[i] ?? 0
      const freq = this.#freqs.values[term] ?? 0
      this.#postings.add(term, doc, freq)
      this.#nextPositions.values[term] = this.#postings.addPositions(freq)
      this.#freqs.values[term] = 0
    }
  }

  #addPositions(tokens: TokenSequence, from: number): void {
    const { positions } = this.#postings
    const next = this.#nextPositions.values
    const tokenTerms = this.#tokenTerms.values
    let i = from
    for (const { position } of tokens.slice(from, from + VALUES_PER_STEP)) {
      const term = tokenTerms[i] ?? 0
      const at = next[term] ?? 0
      positions[at] = position
      next[term] = at + 1
      i += 1
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
