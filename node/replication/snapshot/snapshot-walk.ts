// Walks what a snapshot has, from any page end on, in parts that fit a page.

import { open } from 'node:fs/promises'
import path from 'node:path'
import { ServiceError } from '../../../lib/errors.ts'
import type { KvEntry, KvSnapshot } from '../../storage/kv-store.ts'
import { encodedBytes, encodeEntry, writeEntry } from './entry-stream.ts'
import { PAGE_CONTENT_BYTES_MAX } from './snapshot-limits.ts'
import type { SnapshotFile } from './snapshot-messages.ts'
import { FILE_PART_BYTES_MAX, type PageContent } from './snapshot-page.ts'

/** The end of a part: the next one begins here. */
export interface SnapshotPlace {
  /** The last entry that the parts have whole; undefined before the first. */
  readonly lastKey: Buffer | undefined
  /** The bytes of the entry after it that they have. */
  readonly skip: number
  /** The number of whole entries. */
  readonly entries: number
  /** The number of whole files; undefined before the end of the entries. */
  readonly files: number | undefined
  /** The bytes of the file after those that the parts have. */
  readonly offset: number
}

export const SNAPSHOT_BEGIN: SnapshotPlace = {
  lastKey: undefined,
  skip: 0,
  entries: 0,
  files: undefined,
  offset: 0,
}

/** A part, and where it ends. */
export interface SnapshotPart {
  readonly content: Exclude<PageContent, { readonly kind: 'end' }>
  readonly end: SnapshotPlace
}

/** The store and the files to walk. */
export interface WalkedSnapshot {
  readonly snapshot: Pick<KvSnapshot, 'pages'>
  readonly directory: string
  readonly files: readonly SnapshotFile[]
}

/** All parts behind a place: those of entries, then those of files. It holds one part in memory. */
export async function* walkSnapshot(
  walked: WalkedSnapshot,
  from: SnapshotPlace,
): AsyncGenerator<SnapshotPart, void> {
  let place = from
  if (place.files === undefined) {
    for await (const part of walkEntries(walked, place)) {
      yield part
      place = part.end
    }
    place = { ...place, files: 0 }
  }
  yield* walkFiles(walked, place)
}

async function* walkEntries(
  { snapshot }: WalkedSnapshot,
  from: SnapshotPlace,
): AsyncGenerator<SnapshotPart, void> {
  const cutter = new EntryCutter(from)
  const range = from.lastKey === undefined ? {} : { gt: from.lastKey }
  for await (const page of snapshot.pages(range)) {
    for (const entry of page) yield* cutter.add(entry)
  }
  yield* cutter.rest()
}

/** Cuts the stream of entries into parts of one size. */
class EntryCutter {
  #bytes = Buffer.allocUnsafe(PAGE_CONTENT_BYTES_MAX)
  #filled = 0
  #end: SnapshotPlace

  constructor(from: SnapshotPlace) {
    this.#end = from
  }

  /** The parts that are full. */
  *add(entry: KvEntry): Generator<SnapshotPart, void> {
    const fits = this.#filled + encodedBytes(entry) <= this.#bytes.length
    if (fits && this.#end.skip === 0) this.#filled = writeEntry(this.#bytes, this.#filled, entry)
    else yield* this.#addInPieces(encodeEntry(entry))
    const entries = this.#end.entries + 1
    this.#end = { ...this.#end, lastKey: entry[0], skip: 0, entries }
  }

  *rest(): Generator<SnapshotPart, void> {
    if (this.#filled > 0) yield this.#cut()
  }

  *#addInPieces(encoded: Buffer): Generator<SnapshotPart, void> {
    let at = this.#end.skip
    while (at < encoded.length) {
      if (this.#filled === this.#bytes.length) yield this.#cut()
      const copied = encoded.copy(this.#bytes, this.#filled, at)
      at += copied
      this.#filled += copied
      this.#end = { ...this.#end, skip: at }
    }
  }

  #cut(): SnapshotPart {
    const bytes = this.#bytes.subarray(0, this.#filled)
    this.#bytes = Buffer.allocUnsafe(PAGE_CONTENT_BYTES_MAX)
    this.#filled = 0
    return { content: { kind: 'entries', bytes }, end: this.#end }
  }
}

async function* walkFiles(
  { directory, files }: WalkedSnapshot,
  from: SnapshotPlace,
): AsyncGenerator<SnapshotPart, void> {
  const first = from.files ?? 0
  for (const [at, file] of files.slice(first).entries()) {
    const number = first + at
    const offset = at === 0 ? from.offset : 0
    for await (const part of partsOfFile(directory, file, offset)) {
      const readTo = part.offset + part.bytes.length
      const isWhole = readTo === file.bytes
      const wholeFiles = isWhole ? number + 1 : number
      yield {
        content: { kind: 'file', file: number, bytes: part.bytes },
        end: { ...from, files: wholeFiles, offset: isWhole ? 0 : readTo },
      }
    }
  }
}

interface FilePart {
  readonly offset: number
  readonly bytes: Buffer
}

async function* partsOfFile(
  root: string,
  { directory, name, bytes }: SnapshotFile,
  from: number,
): AsyncGenerator<FilePart, void> {
  if (from === bytes) return
  const handle = await open(path.join(root, directory, name), 'r')
  try {
    for (let offset = from; offset < bytes;) {
      const part = Buffer.allocUnsafe(Math.min(FILE_PART_BYTES_MAX, bytes - offset))
      const { bytesRead } = await handle.read(part, 0, part.length, offset)
      if (bytesRead === 0) throw shortFile(name)
      yield { offset, bytes: part.subarray(0, bytesRead) }
      offset += bytesRead
    }
  } finally {
    await handle.close()
  }
}

function shortFile(name: string): ServiceError {
  return new ServiceError('CORRUPTION', `the index file ${name} became shorter during its copy`)
}
