import { assert, unreachable } from '../../../../lib/assert.ts'
import type { IndexableField, IndexableToken } from '../indexable-document.ts'
import type { DictionaryEntry } from './dictionary.ts'
import { GrowableUint32 } from './growable.ts'
import { MemoryColumn, type TermRanks } from './memory-column.ts'
import { MemoryPostingsPool } from '../postings/memory-postings.ts'
import type { PostingsSource } from '../postings/postings-source.ts'
import type { SegmentField, SegmentFieldKind } from './segment.ts'
import { byteOfLength, lengthOfByte } from './small-float.ts'
import { TextOrder } from './text-order.ts'

/** A rough price of a term without its characters: the map's entry, and the arrays beside it. */
const TERM_BYTES = 120

export class MemoryField implements SegmentField, TermRanks {
  readonly name: string
  readonly kind: SegmentFieldKind
  readonly column: MemoryColumn | undefined
  docCount = 0
  totalLength = 0
  #norms = new Uint8Array(0)
  readonly #terms = new Map<string, number>()
  readonly #texts: string[] = []
  /** As if of one byte a character. */
  #textBytes = 0
  readonly #postings = new MemoryPostingsPool()
  /** Of the document being added: the frequency and the next free position by term. */
  readonly #freqs = new GrowableUint32()
  readonly #nextPositions = new GrowableUint32()
  readonly #tokenTerms = new GrowableUint32()
  readonly #docTerms = new GrowableUint32()
  readonly #order = new TextOrder(this.#texts)
  /** The place of each term in the order; of the first `ranks.length` terms. */
  #ranks = new Uint32Array(0)
  #lastDoc = -1

  constructor(name: string, kind: SegmentFieldKind) {
    this.name = name
    this.kind = kind
    const ranks = kind === 'keyword' ? this : undefined
    this.column = kind === 'text' ? undefined : new MemoryColumn(kind, ranks)
  }

  get bytes(): number {
    const columnBytes = this.column?.bytes ?? 0
    const termBytes = this.#texts.length * TERM_BYTES + this.#textBytes
    return this.#norms.length + this.#postings.bytes + termBytes + columnBytes
  }

  add(doc: number, field: IndexableField): void {
    assert(field.kind === this.kind, `the kind of field ${this.name} is the same everywhere`)
    assert(doc > this.#lastDoc, `a document has field ${this.name} once`)
    this.#lastDoc = doc
    switch (field.kind) {
      case 'text':
        this.#addText(doc, field.tokens, field.length)
        break
      case 'keyword':
        this.#addKeywords(doc, field.values)
        break
      case 'number':
        this.column?.add(
          doc,
          field.values.toSorted((a, b) => a - b),
        )
        break
      case 'point': {
        const values = field.values.flatMap(({ lon, lat }) => [lon, lat])
        this.column?.add(doc, values)
        break
      }
      default:
        unreachable(field)
    }
  }

  // ---- SegmentField

  /** As long as the field's last document; what lies behind it does not have the field. */
  get norms(): Uint8Array | undefined {
    return this.kind === 'text' ? this.#norms : undefined
  }

  find(term: string): DictionaryEntry | undefined {
    const id = this.#terms.get(term)
    return id === undefined ? undefined : this.#entry(id)
  }

  *entriesFrom(term: string): Generator<DictionaryEntry, void> {
    const sorted = this.#order.sorted()
    for (let rank = this.#order.lowerBound(term); rank < sorted.length; rank += 1) {
      yield this.#entry(sorted[rank] ?? 0)
    }
  }

  postings(entry: DictionaryEntry): PostingsSource {
    return this.#postings.source(entry.ordinal)
  }

  // ---- TermRanks

  get count(): number {
    return this.#texts.length
  }

  at(ordinal: number): string {
    return this.#texts[this.#order.sorted()[ordinal] ?? 0] ?? ''
  }

  rankOf(term: number): number {
    if (this.#ranks.length < this.#texts.length) {
      const sorted = this.#order.sorted()
      this.#ranks = new Uint32Array(sorted.length)
      for (let rank = 0; rank < sorted.length; rank += 1) this.#ranks[sorted[rank] ?? 0] = rank
    }
    return this.#ranks[term] ?? 0
  }

  lowerBound(term: string): number {
    return this.#order.lowerBound(term)
  }

  /** What would be done for the first walk of the terms, in slices. */
  sortTerms(): Generator<void, void> {
    return this.#order.update()
  }

  #entry(id: number): DictionaryEntry {
    const docFreq = this.#postings.docFreq(id)
    return { text: this.#texts[id] ?? '', ordinal: id, docFreq, offset: 0, length: 0 }
  }

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

  #addKeywords(doc: number, values: readonly string[]): void {
    const terms = [...new Set(values.map((value) => this.#termOf(value)))]
    for (const term of terms) this.#postings.add(term, doc, 1)
    this.column?.add(doc, terms)
  }

  #addText(doc: number, tokens: readonly IndexableToken[], length: number): void {
    this.#setNorm(doc, byteOfLength(length))
    this.#countTerms(tokens)
    const docTerms = this.#docTerms.values
    for (let i = 0; i < this.#docTerms.length; i += 1) {
      const term = docTerms[i] ?? 0
      const freq = this.#freqs.values[term] ?? 0
      this.#postings.add(term, doc, freq)
      this.#nextPositions.values[term] = this.#postings.addPositions(freq)
      this.#freqs.values[term] = 0
    }
    const { positions } = this.#postings
    const next = this.#nextPositions.values
    const tokenTerms = this.#tokenTerms.values
    for (let i = 0; i < tokens.length; i += 1) {
      const term = tokenTerms[i] ?? 0
      const at = next[term] ?? 0
      positions[at] = tokens[i]?.position ?? 0
      next[term] = at + 1
    }
  }

  /** Fills `tokenTerms`, the distinct `docTerms`, and `freqs`. */
  #countTerms(tokens: readonly IndexableToken[]): void {
    this.#docTerms.length = 0
    this.#tokenTerms.length = 0
    this.#tokenTerms.reserve(tokens.length)
    for (let i = 0; i < tokens.length; i += 1) {
      const term = this.#termOf(tokens[i]?.term ?? '')
      this.#tokenTerms.values[i] = term
      const freq = this.#freqs.values[term] ?? 0
      this.#freqs.values[term] = freq + 1
      if (freq === 0) this.#docTerms.push(term)
    }
  }

  #setNorm(doc: number, byte: number): void {
    if (doc >= this.#norms.length) {
      const larger = new Uint8Array(Math.max(doc + 1, this.#norms.length * 2, 64))
      larger.set(this.#norms)
      this.#norms = larger
    }
    this.#norms[doc] = byte
    if (byte === 0) return
    this.docCount += 1
    this.totalLength += lengthOfByte(byte)
  }
}
