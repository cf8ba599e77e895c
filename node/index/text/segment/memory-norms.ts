// The norms of a field of a memory segment, which grow document by document.
//
// Invariants:
//   MN1  Bytes below a number of documents do not change when later documents are added: what `below`
//        answered stays good. A change between dense and listed makes new arrays.

import { GrowableUint32 } from '../../encoding/growable.ts'
import { DENSE_SHARE, FieldNorms, normsOfList } from '../encoding/field-norms.ts'
import { placeOf } from '../encoding/listed-documents.ts'

/** A list becomes dense when one document in four has the field, which is often enough to stay dense. */
const TO_DENSE_SHARE = DENSE_SHARE / 2
const LENGTH_FIRST = 64

/** Documents are added in ascending order, each at most once. */
export class MemoryNorms {
  #dense: Uint8Array | undefined
  #docs = new GrowableUint32()
  #bytes: Uint8Array = new Uint8Array(0)
  #count = 0
  /** Behind the last document with a byte. */
  #end = 0

  /** The memory that the norms take. */
  get bytes(): number {
    return this.#dense?.length ?? this.#docs.length * 5
  }

  /** `byte` is above 0. */
  add(doc: number, byte: number): void {
    this.#count += 1
    this.#end = doc + 1
    if (this.#dense !== undefined && this.#end > LENGTH_FIRST) {
      if (this.#end > this.#count * DENSE_SHARE) this.#toList(this.#dense)
    }
    if (this.#dense === undefined) this.#addToList(doc, byte)
    else this.#addToDense(this.#dense, doc, byte)
  }

  /** The norms of the documents below `docEnd`. */
  below(docEnd: number): FieldNorms {
    if (this.#dense !== undefined) return FieldNorms.ofAll(this.#dense.subarray(0, docEnd))
    const docs = this.#docs.values
    const count = placeOf(docs, docEnd, this.#docs.length)
    return normsOfList(docs.subarray(0, count), this.#bytes.subarray(0, count))
  }

  /** Visits the bytes of the documents at or behind `docEnd`. */
  forEachFrom(docEnd: number, visit: (byte: number) => void): void {
    if (this.#dense !== undefined) {
      for (let doc = docEnd; doc < this.#end; doc += 1) {
        const byte = this.#dense[doc] ?? 0
        if (byte > 0) visit(byte)
      }
      return
    }
    const from = placeOf(this.#docs.values, docEnd, this.#docs.length)
    for (let i = from; i < this.#docs.length; i += 1) visit(this.#bytes[i] ?? 0)
  }

  #addToList(doc: number, byte: number): void {
    const at = this.#docs.length
    this.#docs.push(doc)
    if (at >= this.#bytes.length) this.#bytes = grown(this.#bytes, this.#docs.values.length)
    this.#bytes[at] = byte
    if (this.#end <= this.#count * TO_DENSE_SHARE) this.#toDense()
  }

  #addToDense(dense: Uint8Array, doc: number, byte: number): void {
    const isRoom = doc < dense.length
    const room = isRoom ? dense : grown(dense, Math.max(doc + 1, dense.length * 2))
    room[doc] = byte
    this.#dense = room
  }

  #toDense(): void {
    const dense = new Uint8Array(Math.max(this.#end, LENGTH_FIRST))
    for (let i = 0; i < this.#docs.length; i += 1) {
      dense[this.#docs.values[i] ?? 0] = this.#bytes[i] ?? 0
    }
    this.#dense = dense
    this.#docs = new GrowableUint32()
    this.#bytes = new Uint8Array(0)
  }

  #toList(dense: Uint8Array): void {
    this.#dense = undefined
    for (let doc = 0; doc < dense.length; doc += 1) {
      const byte = dense[doc] ?? 0
      if (byte === 0) continue
      const at = this.#docs.length
      this.#docs.push(doc)
      if (at >= this.#bytes.length) this.#bytes = grown(this.#bytes, this.#docs.values.length)
      this.#bytes[at] = byte
    }
  }
}

function grown(bytes: Uint8Array, length: number): Uint8Array {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  return larger
}
