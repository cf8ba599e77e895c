import type { IndexableDocument } from '../indexable-document.ts'
import { GrowableFloat64 } from './growable.ts'
import { MemoryField } from './memory-field.ts'
import type { Segment } from './segment.ts'
import { TextOrder } from './text-order.ts'

/** A rough price of a key: its string and the entry of the map. */
const KEY_BYTES = 80

/** Documents not yet on disk, searchable as soon as `add` returns. */
export class MemorySegment implements Segment {
  readonly isKeyOrdered = false
  firstExpiryMs = Infinity
  readonly #keys: string[] = []
  readonly #docs = new Map<string, number>()
  readonly #expiries = new GrowableFloat64()
  readonly #fields = new Map<string, MemoryField>()
  readonly #order = new TextOrder(this.#keys)

  get docCount(): number {
    return this.#keys.length
  }

  get bytesInMemory(): number {
    let bytes = this.#keys.length * (KEY_BYTES + 8)
    for (const field of this.#fields.values()) bytes += field.bytes
    return bytes
  }

  /** Answers the document's number. A key added again leaves the former document to be deleted. */
  add(key: string, document: IndexableDocument): number {
    const doc = this.#keys.length
    this.#keys.push(key)
    this.#docs.set(key, doc)
    this.#expiries.push(document.expiresAtMs)
    if (document.expiresAtMs > 0) {
      this.firstExpiryMs = Math.min(this.firstExpiryMs, document.expiresAtMs)
    }
    for (const field of document.fields) {
      let known = this.#fields.get(field.name)
      if (known === undefined) {
        known = new MemoryField(field.name, field.kind)
        this.#fields.set(field.name, known)
      }
      known.add(doc, field)
    }
    return doc
  }

  fieldNames(): Iterable<string> {
    return this.#fields.keys()
  }

  field(name: string): MemoryField | undefined {
    return this.#fields.get(name)
  }

  key(doc: number): string {
    return this.#keys[doc] ?? ''
  }

  docOf(key: string): number {
    return this.#docs.get(key) ?? -1
  }

  expiriesOf(from: number, to: number): Float64Array {
    return this.#expiries.values.subarray(from, to)
  }

  *prepareMerge(): Generator<void, void> {
    yield* this.#order.update()
    for (const field of this.#fields.values()) yield* field.sortTerms()
  }

  *keysInOrder(): Generator<{ text: string; ordinal: number }, void> {
    for (const doc of this.#order.sorted()) yield { text: this.#keys[doc] ?? '', ordinal: doc }
  }

  docsWithPrefix(prefix: string, visit: (doc: number) => void): void {
    for (const [doc, key] of this.#keys.entries()) if (key.startsWith(prefix)) visit(doc)
  }
}
