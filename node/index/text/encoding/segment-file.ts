// Reading and writing the bytes of a segment. Format: docs/reference/formats/text-segment.md.
//
// A file is pages of 32 KiB, each with a checksum in the trailer, which has its own. A page is
// verified whenever it comes from the disk, so damage is CORRUPTION at the first read of it.

import { fstatSync, openSync, readSync } from 'node:fs'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { DurableFile } from '../../files/durable-file.ts'
import { ByteBuffer, checksum, readUint32 } from './byte-buffer.ts'
import type { PageCache } from './page-cache.ts'
import { sharedBytes } from '../../encoding/shared-array.ts'

const PAGE_SHIFT = 15
const PAGE_BYTES = 1 << PAGE_SHIFT
const PAGES_MAX = 2 ** 24
const MAGIC = 0x53585451 // QTXS
const FORMAT_VERSION = 2
/** Version 1 lists no documents of a field: all norms and columns have a place for each document. */
const READ_VERSIONS: ReadonlySet<number> = new Set([1, FORMAT_VERSION])
const COPIED_PER_STEP = 16 * PAGE_BYTES
/** Lengths of the description and of the page table, checksum, magic. */
const TRAILER_BYTES = 16

/** Where a writer's bytes go: a file, or memory for `mem_only`. */
export class SegmentOutput {
  readonly #file: DurableFile | undefined
  readonly #kept: Uint8Array[] = []
  readonly #page = new Uint8Array(PAGE_BYTES)
  readonly #sums = new ByteBuffer()
  #inPage = 0
  #pages = 0

  /** Without a path the bytes stay in memory. */
  constructor(path: string | undefined, disk: DiskWork) {
    this.#file = path === undefined ? undefined : new DurableFile(path, disk)
    const header = new ByteBuffer()
    header.writeUint32(MAGIC)
    header.writeUint32(FORMAT_VERSION)
    this.write(header.view())
  }

  /** Where the next byte goes. */
  get offset(): number {
    return this.#pages * PAGE_BYTES + this.#inPage
  }

  write(bytes: Uint8Array): void {
    let from = 0
    while (from < bytes.length) {
      const count = Math.min(PAGE_BYTES - this.#inPage, bytes.length - from)
      this.#page.set(bytes.subarray(from, from + count), this.#inPage)
      this.#inPage += count
      from += count
      if (this.#inPage === PAGE_BYTES) this.#endPage()
    }
  }

  /** As `write`, in steps, and no faster than the disk. */
  *writeInSteps(bytes: Uint8Array): Paced<void> {
    for (let from = 0; from < bytes.length; from += COPIED_PER_STEP) {
      if (from > 0) yield
      this.write(bytes.subarray(from, from + COPIED_PER_STEP))
      yield* this.keepUp()
    }
  }

  /** Waits while the disk is far behind. */
  *keepUp(): Paced<void> {
    if (this.#file !== undefined) yield* this.#file.keepUp()
  }

  /** Writes description and checksums. Durable when it ends; the whole bytes for `mem_only`. */
  *finish(description: string): Paced<Uint8Array | undefined> {
    if (this.#inPage > 0) this.#endPage()
    const text = Buffer.from(description, 'utf8')
    const end = new ByteBuffer()
    end.write(text)
    end.write(this.#sums.view())
    end.writeUint32(text.length)
    end.writeUint32(this.#sums.length)
    end.writeUint32(checksum(end.view()))
    end.writeUint32(MAGIC)
    this.#append(end.view())
    if (this.#file === undefined) return joinShared(this.#kept)
    yield* this.#file.sync()
    this.#file.close()
    return undefined
  }

  /** Gives the file up. */
  abort(): void {
    this.#file?.close()
  }

  #endPage(): void {
    const page = this.#page.subarray(0, this.#inPage)
    this.#sums.writeUint32(checksum(page))
    this.#append(page)
    this.#pages += 1
    this.#inPage = 0
  }

  #append(bytes: Uint8Array): void {
    if (this.#file === undefined) this.#kept.push(bytes.slice())
    else this.#file.append(bytes)
  }
}

/** The bytes of a segment: a file, or memory that threads share. */
export interface SegmentBytes {
  readonly name: string
  readonly path?: string
  readonly bytes?: Uint8Array
}

function joinShared(parts: readonly Uint8Array[]): Uint8Array {
  const out = sharedBytes(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** Read access through the page cache, or to bytes in memory. `seek` hands out no new objects. */
export class SegmentInput {
  readonly name: string
  /** Where another thread finds the same bytes. */
  readonly source: SegmentBytes
  readonly bytesTotal: number
  /** Set by `seek`: the bytes asked for begin at `view[at]`. */
  view: Uint8Array = new Uint8Array(0)
  at = 0
  readonly #fd: number | undefined
  readonly #whole: Uint8Array | undefined
  readonly #cache: PageCache
  readonly #disk: DiskWork
  readonly #fileKey: number
  #sums: Uint8Array = new Uint8Array(0)
  #dataBytes = 0
  #page: Uint8Array = new Uint8Array(0)
  #pageStart = -1
  #words = readableAsWords(this.view)
  #wordsBefore = this.#words
  readonly description: string

  constructor(source: SegmentBytes, cache: PageCache, disk: DiskWork) {
    this.name = source.name
    this.source = source
    this.#cache = cache
    this.#disk = disk
    this.#fileKey = cache.newFile() * PAGES_MAX
    this.#whole = source.bytes
    this.#fd = source.path === undefined ? undefined : openFile(source.path, source.name)
    this.bytesTotal =
      this.#fd === undefined ? (source.bytes?.length ?? 0) : fstatSync(this.#fd).size
    try {
      this.description = this.#readTrailer()
      this.seek(0, 8)
      const isKnown = readUint32(this.view, this.at) === MAGIC
      const version = readUint32(this.view, this.at + 4)
      if (!isKnown || !READ_VERSIONS.has(version)) throw this.corruption()
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    if (this.#fd !== undefined) this.#disk.close(this.#fd)
  }

  corruption(): ServiceError {
    return new ServiceError(
      'CORRUPTION',
      `the text index file ${this.name} is damaged; rebuild the index`,
    )
  }

  /** Makes `length` bytes at `offset` readable at `view[at]`, until the next `seek`. */
  seek(offset: number, length: number): void {
    if (this.#whole !== undefined) {
      this.view = this.#whole
      this.at = offset
      return
    }
    const inPage = offset - this.#pageStart
    if (inPage >= 0 && inPage + length <= this.#page.length && this.#pageStart >= 0) {
      this.view = this.#page
      this.at = inPage
      return
    }
    this.#load(offset, length)
  }

  /** The bytes of `view`, to be read as words. Two are kept, because two terms are often read in turns. */
  get words(): DataView {
    const { view } = this
    if (this.#words.of === view) return this.#words.words
    const found = this.#wordsBefore.of === view ? this.#wordsBefore : readableAsWords(view)
    this.#wordsBefore = this.#words
    this.#words = found
    return found.words
  }

  /** A copy of bytes that does not hold the cached pages in memory. */
  copy(offset: number, length: number): Uint8Array {
    const out = new Uint8Array(length)
    for (let done = 0; done < length;) {
      const inPage = (offset + done) % PAGE_BYTES
      const count = Math.min(length - done, PAGE_BYTES - inPage)
      this.seek(offset + done, count)
      out.set(this.view.subarray(this.at, this.at + count), done)
      done += count
    }
    return out
  }

  /** As `copy`, in steps, into `out`. */
  *copyInSteps(
    offset: number,
    length: number,
    out: Uint8Array = new Uint8Array(length),
  ): Sliced<Uint8Array> {
    for (let done = 0; done < length; done += COPIED_PER_STEP) {
      if (done > 0) yield
      out.set(this.copy(offset + done, Math.min(COPIED_PER_STEP, length - done)), done)
    }
    return out
  }

  #load(offset: number, length: number): void {
    const number = Math.floor(offset / PAGE_BYTES)
    this.#page = this.#pageAt(number)
    this.#pageStart = number * PAGE_BYTES
    const inPage = offset - this.#pageStart
    this.view = this.#page
    this.at = inPage
    if (inPage + length <= this.#page.length) return
    this.view = this.copy(offset, length)
    this.at = 0
  }

  #pageAt(number: number): Uint8Array {
    const key = this.#fileKey + number
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const start = number * PAGE_BYTES
    if (start < 0 || start >= this.#dataBytes) throw this.corruption()
    const page = this.#read(start, Math.min(PAGE_BYTES, this.#dataBytes - start))
    if (checksum(page) !== readUint32(this.#sums, number * 4)) throw this.corruption()
    this.#cache.put(key, page, page.length)
    return page
  }

  #read(offset: number, length: number): Uint8Array {
    if (offset < 0) throw this.corruption()
    if (this.#fd === undefined) return (this.#whole ?? this.view).subarray(offset, offset + length)
    const page = new Uint8Array(length)
    let done = 0
    while (done < length) {
      const count = readSync(this.#fd, page, done, length - done, offset + done)
      if (count === 0) throw this.corruption()
      done += count
    }
    return page
  }

  #readTrailer(): string {
    const trailerAt = this.bytesTotal - TRAILER_BYTES
    const trailer = this.#read(trailerAt, TRAILER_BYTES)
    const textBytes = readUint32(trailer, 0)
    const sumsBytes = readUint32(trailer, 4)
    this.#dataBytes = trailerAt - textBytes - sumsBytes
    if (this.#dataBytes < 0 || readUint32(trailer, 12) !== MAGIC) throw this.corruption()
    const body = this.#read(this.#dataBytes, textBytes + sumsBytes)
    const isWhole = checksum(body, trailer.subarray(0, 8)) === readUint32(trailer, 8)
    const pages = Math.ceil(this.#dataBytes / PAGE_BYTES)
    if (!isWhole || sumsBytes !== pages * 4) throw this.corruption()
    this.#sums = body.slice(textBytes)
    return Buffer.from(body.subarray(0, textBytes)).toString('utf8')
  }
}

function readableAsWords(of: Uint8Array): { readonly of: Uint8Array; readonly words: DataView } {
  return { of, words: new DataView(of.buffer, of.byteOffset, of.byteLength) }
}

function openFile(path: string, name: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause
    const message = `the text index file ${name} is missing; rebuild the index`
    throw new ServiceError('CORRUPTION', message, { cause })
  }
}
