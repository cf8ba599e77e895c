// The memory that the indexes of one worker share. Of the bound, 13/32 are for pages of segment files,
// an eighth for the terms of recent lookups, 3/32 for the words of documents, 1/32 for selections, and the
// rest, at most 64 MiB, for memory segments, including the one that is being flushed. The bound leaves out the parts that grow with the documents:
// norms, the sparse indexes of dictionaries, key filters and deletions take some five bytes for each
// document and each text field that it has, and a document that expires takes twelve bytes more.

import { PageCache } from '../encoding/page-cache.ts'
import { TermCache } from '../live/term-cache.ts'
import { WordMemory } from '../mapping/word-memory.ts'

const PAGES_PART = 13 / 32
const TERMS_PART = 1 / 8
const SELECTIONS_PART = 1 / 32
const WORDS_PART = 3 / 32
const SEGMENTS_PART = 1 - PAGES_PART - TERMS_PART - SELECTIONS_PART - WORDS_PART

/** More would only make flushes and restarts longer. */
const SEGMENT_BYTES_MAX = 64 * 2 ** 20

const TEXT_MEMORY_BYTES_DEFAULT = 192 * 2 ** 20

/**
 * The caches that the indexes of one worker share, and the bounds of their memory segments and
 * selections. `bytesMax` bounds the sum of all parts.
 */
export class TextMemory {
  readonly pages: PageCache
  readonly terms: TermCache
  /** What the words of documents become. */
  readonly words: WordMemory
  /** The bound of all memory segments together. */
  readonly segmentBytesMax: number
  /** The bound of all cached selections together. */
  readonly selectionBytesMax: number

  constructor(bytesMax = TEXT_MEMORY_BYTES_DEFAULT) {
    this.pages = new PageCache(bytesMax * PAGES_PART)
    this.terms = new TermCache(bytesMax * TERMS_PART)
    this.words = new WordMemory(bytesMax * WORDS_PART)
    this.segmentBytesMax = Math.min(bytesMax * SEGMENTS_PART, SEGMENT_BYTES_MAX)
    this.selectionBytesMax = bytesMax * SELECTIONS_PART
  }
}
