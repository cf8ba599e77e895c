// One open snapshot of a replica, and how far it has been read.
//
// Invariants:
//   OS1  The same bytes come for the same page number, however often a reader comes back.
//   OS2  One reader at a time: a later one ends the one before, whose connection is lost.

import { createHash, type Hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ServiceError } from '../../../lib/errors.ts'
import { FIRST_PAGE, type PageMark, type SnapshotHeader } from './snapshot-messages.ts'
import { encodePage } from './snapshot-page.ts'
import type { StoreView } from './snapshot-replica.ts'
import { SNAPSHOT_BEGIN, walkSnapshot, type SnapshotPlace } from './snapshot-walk.ts'

/** What an open snapshot is made of. */
export interface OpenSnapshotParts {
  readonly header: SnapshotHeader
  readonly view: StoreView
  /** Has the linked files of the indexes. */
  readonly directory: string
  /** How many page ends a reader may continue after. */
  readonly resumablePages: number
}

/** The end of a page. The hashes are of everything before it; a reader copies them. */
interface PageEnd {
  readonly mark: PageMark
  readonly place: SnapshotPlace
  readonly contentHash: Hash
  readonly filesHash: Hash
}

/** Gives the pages of one snapshot. The owner frees the view and the directory, after `stop`. */
export class OpenSnapshot {
  readonly #with: OpenSnapshotParts
  /** The newest ones, by the number of the page. */
  readonly #ends = new Map<number, PageEnd>()
  #reading: AsyncGenerator<Buffer, void> | undefined
  #isStopped = false

  constructor(parts: OpenSnapshotParts) {
    this.#with = parts
    this.#remember({
      mark: FIRST_PAGE,
      place: SNAPSHOT_BEGIN,
      contentHash: createHash('sha256'),
      filesHash: createHash('sha256'),
    })
  }

  get header(): SnapshotHeader {
    return this.#with.header
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /**
   * The pages after the last one that the reader has. NOT_FOUND if that is too long ago: the reader has
   * to begin with another snapshot.
   */
  async pages(after: PageMark): Promise<AsyncGenerator<Buffer, void>> {
    const end = this.#ends.get(after.number)
    if (this.#isStopped || end === undefined || end.mark.crc !== after.crc) throw goneError()
    const before = this.#reading
    const reading = this.#pagesAfter(end)
    this.#reading = reading
    await before?.return() // OS2
    return reading
  }

  /** No page is read afterwards. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#reading?.return()
  }

  async *#pagesAfter(last: PageEnd): AsyncGenerator<Buffer, void> {
    const { view, directory, header } = this.#with
    const contentHash = last.contentHash.copy()
    const filesHash = last.filesHash.copy()
    let { mark, place } = last
    const walked = { snapshot: view.snapshot, directory, files: header.files }
    for await (const { content, end } of walkSnapshot(walked, place)) {
      const hash = content.kind === 'entries' ? contentHash : filesHash
      hash.update(content.bytes)
      const page = encodePage(content, mark)
      mark = page.mark
      place = end
      const hashes = { contentHash: contentHash.copy(), filesHash: filesHash.copy() }
      this.#remember({ mark, place, ...hashes })
      yield page.bytes
      await nextTurn()
    }
    const hashes = { contentHash: contentHash.digest(), filesHash: filesHash.digest() }
    yield encodePage({ kind: 'end', entries: place.entries, ...hashes }, mark).bytes
  }

  #remember(end: PageEnd): void {
    const { number } = end.mark
    this.#ends.set(number, end)
    this.#ends.delete(number - this.#with.resumablePages)
  }
}

/** The refusal of a page if the snapshot is not open, or cannot continue there. */
export function goneError(): ServiceError {
  return new ServiceError('NOT_FOUND', 'the snapshot is no longer open; open another one')
}
