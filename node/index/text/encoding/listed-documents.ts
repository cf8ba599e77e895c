// The documents that have a field, where few have it: a list, so that what a field costs depends on the
// documents that have it, and not on those beside them.

import type { Sliced } from '../../../../lib/sliced.ts'
import { newBitset, nextBit, setBit } from '../../encoding/bitset.ts'

const SORTED_AT_ONCE_MAX = 16_384
const DOCS_PER_STEP = 65_536

/** Documents of one segment, each once and ascending. `read` copies those from one place to another. */
export interface ListedDocuments {
  readonly count: number
  read(from: number, to: number): Uint32Array
}

/** A list that lies in memory. */
export function listInMemory(docs: Uint32Array): ListedDocuments {
  return { count: docs.length, read: (from, to) => docs.subarray(from, to) }
}

/** The place in the first `count` of `docs`, which ascend, of the first one at or above `doc`. */
export function placeOf(docs: Uint32Array, doc: number, count = docs.length): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((docs[middle] ?? 0) < doc) low = middle + 1
    else high = middle
  }
  return low
}

/** Sorts in place. Each document, below `docCount`, occurs once. */
export function* sortDocuments(docs: Uint32Array, docCount: number): Sliced<void> {
  if (docs.length <= SORTED_AT_ONCE_MAX) {
    docs.sort()
    return
  }
  const bits = newBitset(docCount)
  for (let i = 0; i < docs.length; i += 1) {
    setBit(bits, docs[i] ?? 0)
    if (i % DOCS_PER_STEP === DOCS_PER_STEP - 1) yield
  }
  let doc = -1
  for (let i = 0; i < docs.length; i += 1) {
    doc = nextBit(bits, doc + 1, docCount)
    docs[i] = doc
    if (i % DOCS_PER_STEP === DOCS_PER_STEP - 1) yield
  }
}
