// The bytes of the postings of a segment: a file of which parts are read when they are wanted, or memory.

import { closeSync, fstatSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import { BoundedCache } from '../../encoding/bounded-cache.ts'
import { damaged, openFile, readExactly, type FileSum } from '../../rows/file-sums.ts'

/** Keys of parts are one number: 2 ** 34 parts of at least 4 bytes in each of 2 ** 19 files. */
const PARTS_PER_FILE = 2 ** 34
const FILES_MAX = 2 ** 19
const ALIGNMENT = 4

/** Parts of files that were read and verified, shared by the segments of one worker. */
export class PostingsCache extends BoundedCache<number, Uint8Array> {
  #nextFile = 0

  /** A number for a file, not used again before half a million others. */
  newFile(): number {
    this.#nextFile = (this.#nextFile + 1) % FILES_MAX
    return this.#nextFile
  }
}

/** A part that has a sum of its own. */
export interface SummedPart {
  /** A multiple of 4. */
  readonly at: number
  readonly bytes: number
  readonly sum: number
}

/**
 * Reads postings. Contract: what `read` answers does not change, and begins at a multiple of 4 in its buffer;
 * CORRUPTION for bytes of another sum.
 */
export interface PostingsBytes {
  readonly length: number
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
  read(part: SummedPart): Uint8Array
  close(): void
}

/** Where a file of postings is, and what keeps its parts. */
export interface PostingsFile {
  readonly path: string
  readonly name: string
  readonly cache: PostingsCache
}

/** In a file. */
export class FilePostings implements PostingsBytes {
  readonly length: number
  readonly bytesInMemory = 0
  readonly #fd: number
  readonly #number: number
  readonly #file: PostingsFile

  /** CORRUPTION if the file is missing or has another length. */
  constructor(file: PostingsFile, { bytes }: Pick<FileSum, 'bytes'>) {
    this.#file = file
    this.length = bytes
    this.#number = file.cache.newFile()
    this.#fd = openFile(file.path, file.name)
    if (fstatSync(this.#fd).size === bytes) return
    closeSync(this.#fd)
    throw damaged(`${file.name} has another length`)
  }

  get bytesOnDisk(): number {
    return this.length
  }

  read({ at, bytes: length, sum }: SummedPart): Uint8Array {
    const { cache, name } = this.#file
    const key = this.#number * PARTS_PER_FILE + at / ALIGNMENT
    const known = cache.get(key)
    if (known !== undefined) return known
    if (at + length > this.length) throw damaged(`${name} is cut short`)
    const bytes = new Uint8Array(length)
    readExactly(this.#fd, bytes, at, name)
    if (crc32(bytes) !== sum) throw damaged(`${name} is damaged`)
    cache.put(key, bytes, length)
    return bytes
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** Postings of an index that has no files. */
class MemoryPostings implements PostingsBytes {
  readonly bytesOnDisk = 0
  readonly #bytes: Uint8Array<ArrayBuffer>

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes
  }

  get length(): number {
    return this.#bytes.length
  }

  get bytesInMemory(): number {
    return this.#bytes.length
  }

  read({ at, bytes }: SummedPart): Uint8Array {
    return this.#bytes.subarray(at, at + bytes)
  }

  close(): void {}
}

/** Where a writer of postings puts its bytes, which may change after it. */
export interface PostingsOutput {
  write(bytes: Uint8Array): Paced<void>
}

/** Bytes that are added in a step. */
const KEPT_PER_STEP = 2 ** 20

/** Gathers the postings of a segment that stays in memory. */
export class KeptPostings implements PostingsOutput {
  readonly #parts: Uint8Array[] = []
  #length = 0;

  *write(bytes: Uint8Array): Sliced<void> {
    this.#parts.push(bytes.slice())
    this.#length += bytes.length
    yield
  }

  *join(): Sliced<PostingsBytes> {
    const joined = new Uint8Array(this.#length)
    let [at, stepAt] = [0, 0]
    for (const part of this.#parts) {
      joined.set(part, at)
      at += part.length
      if (at - stepAt < KEPT_PER_STEP) continue
      stepAt = at
      yield
    }
    return new MemoryPostings(joined)
  }
}
