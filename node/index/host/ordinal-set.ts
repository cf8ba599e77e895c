// A set of ordinals that one index passes to another. Few ordinals are a sorted list. Many are a
// bitmap over the range in use, because ordinals of deleted documents are not used again.

import type { Sliced } from '../../../lib/sliced.ts'

/** A set with this number of members or more is a bitmap. */
export const ORDINAL_LIST_END = 4096

/**
 * A set of ordinals of one shard, which may be posted to another thread. Contract:
 * - A list ascends and has fewer than ORDINAL_LIST_END members.
 * - A bitmap has bit `(ordinal - from) & 31` of word `(ordinal - from) >>> 5`; `from` is a multiple of 32.
 * - The arrays never change, because a set may be shared.
 */
export type OrdinalSet =
  | { readonly kind: 'list'; readonly ordinals: Uint32Array }
  | { readonly kind: 'bitmap'; readonly from: number; readonly words: Uint32Array }

/** Whether an ordinal is a member. */
export function hasOrdinal(set: OrdinalSet, ordinal: number): boolean {
  if (set.kind === 'bitmap') {
    const bit = ordinal - set.from
    return bit >= 0 && (((set.words[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1
  }
  let low = 0
  let high = set.ordinals.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((set.ordinals[middle] ?? 0) < ordinal) low = middle + 1
    else high = middle
  }
  return set.ordinals[low] === ordinal
}

/** The bytes that a set holds in memory. */
export function bytesOfOrdinals(set: OrdinalSet): number {
  return set.kind === 'list' ? set.ordinals.byteLength : set.words.byteLength
}

const CHUNK_SHIFT = 16
const CHUNK_WORDS = 2 ** (CHUNK_SHIFT - 5)
/** Chunks are 8 KiB, of which some hundred are copied in about a millisecond. */
const CHUNKS_PER_STEP = 128

/** Gathers the ordinals of a set in any order, each once. */
export class OrdinalGatherer {
  readonly #list = new Uint32Array(ORDINAL_LIST_END)
  /** From ORDINAL_LIST_END members on: bitmaps by the high half of the ordinal. */
  #chunks: (Uint32Array | undefined)[] | undefined
  #count = 0

  get count(): number {
    return this.#count
  }

  add(ordinal: number): void {
    const at = this.#count
    this.#count += 1
    if (this.#chunks !== undefined) return setIn(this.#chunks, ordinal)
    this.#list[at] = ordinal
    if (this.#count < ORDINAL_LIST_END) return
    this.#chunks = []
    for (const one of this.#list) setIn(this.#chunks, one)
  }

  *finish(): Sliced<OrdinalSet> {
    const chunks = this.#chunks
    if (chunks === undefined) {
      return { kind: 'list', ordinals: this.#list.subarray(0, this.#count).toSorted() }
    }
    const first = chunks.findIndex((chunk) => chunk !== undefined)
    const words = new Uint32Array((chunks.length - first) * CHUNK_WORDS)
    for (let at = first; at < chunks.length; at += 1) {
      const chunk = chunks[at]
      if (chunk !== undefined) words.set(chunk, (at - first) * CHUNK_WORDS)
      if ((at - first) % CHUNKS_PER_STEP === CHUNKS_PER_STEP - 1) yield
    }
    return { kind: 'bitmap', from: first * 2 ** CHUNK_SHIFT, words }
  }
}

function setIn(chunks: (Uint32Array | undefined)[], ordinal: number): void {
  const at = ordinal >>> CHUNK_SHIFT
  const chunk = chunks[at] ?? new Uint32Array(CHUNK_WORDS)
  chunks[at] = chunk
  const word = (ordinal >>> 5) % CHUNK_WORDS
  chunk[word] = (chunk[word] ?? 0) | (1 << (ordinal & 31))
}
