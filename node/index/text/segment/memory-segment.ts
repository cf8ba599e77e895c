// The documents that are not on disk yet, for the writer and for the readers beside it.
//
// Invariants:
//   M1  A document exists when all of its fields are added: `docCount` changes last.
//   M2  A view below a number of documents never changes while it is counted among the readers
//       (see F1 of the memory field).

import type { Sliced } from '../../../../lib/sliced.ts'
import type { IndexableDocument, IndexableField } from '../indexable-document.ts'
import { GrowableFloat64, GrowableInt32, GrowableUint32 } from '../../encoding/growable.ts'
import { DocumentPostings } from '../postings/document-postings.ts'
import { MemoryField } from './memory-field.ts'
import { NO_ORDINAL, type Segment, type SegmentField } from './segment.ts'
import { TextOrder } from './text-order.ts'

/** A rough price of a key: its string and the entry of the map. */
const KEY_BYTES = 80
const NONE = -1
const FIELDS_PER_STEP = 256

/**
 * The documents since the last flush. One thread adds documents and creates views; the index marks
 * a document as deleted when another one replaces it.
 */
export class MemorySegment {
  readonly isSealed = false
  /** The number of snapshots that use the segment. */
  readers = 0
  firstExpiryMs = Infinity
  hasOrdinals = false
  readonly adding = new DocumentPostings()
  readonly #keys: string[] = []
  readonly #docs = new Map<string, number>()
  /** The earlier document with the same key, for views that do not contain the last one. */
  readonly #earlier = new GrowableInt32()
  readonly #expiries = new GrowableFloat64()
  readonly #ordinals = new GrowableUint32()
  readonly #fields = new Map<string, MemoryField>()
  readonly #order = new TextOrder(this.#keys)
  #fieldBytes = 0

  get docCount(): number {
    return this.#keys.length
  }

  /** The bytes of all added documents, and of the fields that are being added. */
  get bytesInMemory(): number {
    return this.docCount * (KEY_BYTES + 16) + this.#fieldBytes
  }

  /**
   * Adds a document, which exists with the number `docCount` after the last step. Only then may
   * another be added. If the key exists already, the caller deletes the earlier document.
   */
  *add(key: string, document: IndexableDocument): Sliced<number> {
    const doc = this.#keys.length
    let yieldAt = FIELDS_PER_STEP
    for (const [i, field] of document.fields.entries()) {
      yield* this.#addField(doc, field)
      if (i < yieldAt) continue
      yieldAt += FIELDS_PER_STEP
      yield
    }
    const { expiresAtMs, ordinal = NO_ORDINAL } = document
    this.#expiries.push(expiresAtMs)
    if (expiresAtMs > 0) this.firstExpiryMs = Math.min(this.firstExpiryMs, expiresAtMs)
    this.#ordinals.push(ordinal)
    if (ordinal !== NO_ORDINAL) this.hasOrdinals = true
    this.#earlier.push(this.#docs.get(key) ?? NONE)
    this.#docs.set(key, doc)
    this.#keys.push(key)
    return doc
  }

  /** A view of the present documents. */
  view(): Segment {
    return new MemorySegmentView(this, this.docCount)
  }

  // ---- For views

  fieldNames(): Iterable<string> {
    return this.#fields.keys()
  }

  field(name: string): MemoryField | undefined {
    return this.#fields.get(name)
  }

  key(doc: number): string {
    return this.#keys[doc] ?? ''
  }

  /** The last document below `docEnd` with this key; -1 for none. */
  docOf(key: string, docEnd = Infinity): number {
    let doc = this.#docs.get(key) ?? NONE
    while (doc >= docEnd) doc = this.#earlier.values[doc] ?? NONE
    return doc
  }

  expiriesOf(from: number, to: number): Float64Array {
    return this.#expiries.values.subarray(from, to)
  }

  ordinalsOf(from: number, to: number): Uint32Array {
    return this.#ordinals.values.subarray(from, to)
  }

  *prepareMerge(): Sliced<void> {
    yield* this.#order.update()
    for (const field of this.#fields.values()) yield* field.sortTerms()
  }

  keyOrder(): Uint32Array {
    return this.#order.ranks().sorted
  }

  /** Counts what the field grows by: a segment may have thousands of fields, and a document has few. */
  *#addField(doc: number, field: IndexableField): Sliced<void> {
    const before = this.#fields.get(field.name)?.bytes ?? 0
    const grown = this.#fieldFor(field)
    yield* grown.add(doc, field)
    this.#fieldBytes += grown.bytes - before
  }

  #fieldFor({ name, kind }: IndexableField): MemoryField {
    let field = this.#fields.get(name)
    if (field === undefined) {
      field = new MemoryField(name, kind, this)
      this.#fields.set(name, field)
    }
    return field
  }
}

class MemorySegmentView implements Segment {
  readonly isKeyOrdered = false
  readonly docCount: number
  readonly #segment: MemorySegment
  readonly #fields = new Map<string, SegmentField>()

  constructor(segment: MemorySegment, docCount: number) {
    this.#segment = segment
    this.docCount = docCount
  }

  get bytesInMemory(): number {
    return this.#segment.bytesInMemory
  }

  get firstExpiryMs(): number {
    return this.#segment.firstExpiryMs
  }

  fieldNames(): Iterable<string> {
    return this.#segment.fieldNames()
  }

  field(name: string): SegmentField | undefined {
    const known = this.#fields.get(name)
    if (known !== undefined) return known
    const field = this.#segment.field(name)?.view(this.docCount)
    if (field !== undefined) this.#fields.set(name, field)
    return field
  }

  key(doc: number): string {
    return this.#segment.key(doc)
  }

  docOf(key: string): number {
    return this.#segment.docOf(key, this.docCount)
  }

  expiriesOf(from: number, to: number): Float64Array {
    return this.#segment.expiriesOf(from, to)
  }

  get hasOrdinals(): boolean {
    return this.#segment.hasOrdinals
  }

  ordinalsOf(from: number, to: number): Uint32Array {
    return this.#segment.ordinalsOf(from, to)
  }

  prepareMerge(): Sliced<void> {
    return this.#segment.prepareMerge()
  }

  *keysInOrder(): Generator<{ text: string; ordinal: number }, void> {
    for (const doc of this.#segment.keyOrder()) {
      if (doc < this.docCount) yield { text: this.key(doc), ordinal: doc }
    }
  }

  docsWithPrefix(prefix: string, visit: (doc: number) => void): void {
    for (let doc = 0; doc < this.docCount; doc += 1) {
      if (this.key(doc).startsWith(prefix)) visit(doc)
    }
  }
}
