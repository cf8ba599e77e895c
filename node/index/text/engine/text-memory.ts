// The memory that the indexes of one worker share. Of the bound, 15/32 are for pages of segment files,
// an eighth for terms looked up, 1/32 for selections, and the rest for memory segments, the one being
// flushed included. Beside it lies what grows with the documents: norms, the sparse indexes of
// dictionaries, key filters and deletions, some five bytes a document and text field, and twelve
// bytes a document that expires.

import { PageCache } from '../encoding/page-cache.ts'
import { TermCache } from '../live/term-cache.ts'

const PAGES_PART = 15 / 32
const TERMS_PART = 1 / 8
const SELECTIONS_PART = 1 / 32
const SEGMENTS_PART = 1 - PAGES_PART - TERMS_PART - SELECTIONS_PART

const TEXT_MEMORY_BYTES_DEFAULT = 192 * 2 ** 20

/**
 * The caches that the indexes of one worker share, and the bound of their memory segments.
 * `bytesMax` is the sum of all three parts.
 */
export class TextMemory {
  readonly pages: PageCache
  readonly terms: TermCache
  /** Of all memory segments together. */
  readonly segmentBytesMax: number
  /** Of all selections that are remembered. */
  readonly selectionBytesMax: number

  constructor(bytesMax = TEXT_MEMORY_BYTES_DEFAULT) {
    this.pages = new PageCache(bytesMax * PAGES_PART)
    this.terms = new TermCache(bytesMax * TERMS_PART)
    this.segmentBytesMax = bytesMax * SEGMENTS_PART
    this.selectionBytesMax = bytesMax * SELECTIONS_PART
  }
}
