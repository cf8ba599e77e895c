// Receives one snapshot into a directory.
//
// Invariants:
//   ST1  A page that does not continue the one before it changes nothing: it can be asked for again.
//   ST2  `finish` succeeds only if every byte arrived, was read back from the new store, and is synced.

import { mkdir } from 'node:fs/promises'
import { diskErrorCode } from '../../../lib/disk-error.ts'
import { messageOf, ServiceError } from '../../../lib/errors.ts'
import { syncDirectory } from '../../storage/file-replacement.ts'
import type { KvOp, KvStore } from '../../storage/kv-store.ts'
import { ArrivingFiles, brokenSnapshot } from './arriving-files.ts'
import { contentHashOf } from './content-hash.ts'
import { EntryParser } from './entry-stream.ts'
import {
  FIRST_PAGE,
  isSamePosition,
  type PageMark,
  type SnapshotHeader,
} from './snapshot-messages.ts'
import { decodePage, type PageContent, type SnapshotEnd } from './snapshot-page.ts'
import type { ReadPosition } from './snapshot-replica.ts'

/** What a target works with. The directories do not exist yet. */
export interface SnapshotTargetOptions {
  readonly header: SnapshotHeader
  readonly storeDirectory: string
  readonly indexDirectory: string
  readonly openStore: (directory: string) => Promise<KvStore>
  readonly readPosition: ReadPosition
  /** Throws DISK_FULL when the disk has no room for `bytes` more. */
  readonly admit: (bytes: number) => void
}

/**
 * Writes the pages of one snapshot, one after another. After any error but a DamagedPageError it takes
 * nothing more: close it, and remove its directory.
 */
export class SnapshotTarget {
  readonly header: SnapshotHeader
  readonly #with: SnapshotTargetOptions
  readonly #store: KvStore
  readonly #files: ArrivingFiles
  readonly #parser = new EntryParser()
  #mark = FIRST_PAGE
  #end: SnapshotEnd | undefined
  #failure: Error | undefined

  private constructor(options: SnapshotTargetOptions, store: KvStore, files: ArrivingFiles) {
    this.header = options.header
    this.#with = options
    this.#store = store
    this.#files = files
  }

  static async open(options: SnapshotTargetOptions): Promise<SnapshotTarget> {
    const { indexDirectory: root, storeDirectory, header, admit } = options
    await mkdir(storeDirectory, { recursive: true, mode: 0o700 })
    const files = new ArrivingFiles({ root, files: header.files, admit })
    await files.begin()
    return new SnapshotTarget(options, await options.openStore(storeDirectory), files)
  }

  /** The last whole page. */
  get mark(): PageMark {
    return this.#mark
  }

  /** Whether all pages are here. */
  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /** Why the target takes nothing more. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The target keeps the bytes of the page: the caller must not change them. */
  async take(page: Buffer): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const { content, mark } = decodePage(page, this.#mark) // ST1
    try {
      if (this.#end !== undefined) throw brokenSnapshot('a page follows its end')
      await this.#write(content)
    } catch (error) {
      this.#failure = diskFailure(error)
      throw this.#failure
    }
    this.#mark = mark
  }

  /** Verifies and syncs what was written (ST2), and closes it. CORRUPTION if something differs. */
  async finish(): Promise<void> {
    if (this.#end === undefined) throw brokenSnapshot('it has no end')
    try {
      await this.#files.finish(this.#end.filesHash)
      await this.#finishStore(this.#end)
    } catch (error) {
      throw diskFailure(error)
    }
  }

  /** Closes the files. It may be called twice, and after `finish`. */
  async close(): Promise<void> {
    await this.#files.close()
    await this.#store.close()
  }

  async #write(content: PageContent): Promise<void> {
    if (content.kind === 'end') this.#end = content
    else if (content.kind === 'entries') await this.#writeEntries(content.bytes)
    else await this.#files.take(content.file, content.bytes)
  }

  async #writeEntries(bytes: Buffer): Promise<void> {
    const ops = this.#parser.take(bytes).map(([key, value]): KvOp => ({ type: 'put', key, value }))
    if (ops.length > 0) await this.#store.write(ops, { sync: false })
  }

  async #finishStore({ entries, contentHash }: SnapshotEnd): Promise<void> {
    const { header, readPosition, storeDirectory } = this.#with
    const isWhole = this.#parser.isBetweenEntries && this.#parser.count === entries
    if (!isWhole) throw brokenSnapshot('entries are missing')
    await this.#store.flush()
    const position = readPosition(this.#store)
    if (position === undefined || !isSamePosition(position, header.position)) {
      throw brokenSnapshot('its store has another position')
    }
    const { hash } = await contentHashOf(this.#store)
    if (!hash.equals(contentHash)) throw brokenSnapshot('the entries differ')
    await this.#store.close()
    await syncDirectory(storeDirectory)
  }
}

function diskFailure(error: unknown): Error {
  const code = diskErrorCode(error)
  if (code !== undefined) return new ServiceError(code, messageOf(error), { cause: error })
  return error instanceof Error ? error : new Error(messageOf(error))
}
