// The bytes of one file of a segment, written and read in steps. Nothing here knows what they mean.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { ServiceError } from '../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import { syncHere, type DiskWork } from '../files/disk-work.ts'
import { DurableFile } from '../files/durable-file.ts'
import { corruptionOf } from '../segments/segment-format.ts'

/** Read, written or summed in some tenths of a millisecond. */
const STEP_BYTES = 256 * 1024

/** How long a file is, and the CRC-32 of its bytes. */
export interface FileSum {
  readonly bytes: number
  readonly sum: number
}

/** What messages call an index of vectors. */
export const VECTOR_NOUN = 'vector index'

export function damaged(what: string): ServiceError {
  return corruptionOf(VECTOR_NOUN, what)
}

/** A missing file is damage. */
export function openFile(path: string, name: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw damaged(`${name} is missing`)
    }
    throw error
  }
}

/** Checks the length and the sum of a file before anything reads it. CORRUPTION if one differs. */
export function* verifyFile(path: string, name: string, expected: FileSum): Sliced<void> {
  const fd = openFile(path, name)
  try {
    if (fstatSync(fd).size !== expected.bytes) throw damaged(`${name} has another length`)
    const buffer = Buffer.allocUnsafe(Math.min(STEP_BYTES, expected.bytes))
    const found = yield* sumOf(fd, expected.bytes, buffer)
    if (found !== expected.sum) throw damaged(`${name} is damaged`)
  } finally {
    closeSync(fd)
  }
}

/** Syncs in this thread what another library wrote, and answers its length and sum. For a thread that nobody waits for. */
export function* sumWritten(path: string): Sliced<FileSum> {
  const fd = openSync(path, 'r+')
  try {
    const { size: bytes } = fstatSync(fd)
    const sum = yield* sumOf(fd, bytes, Buffer.allocUnsafe(STEP_BYTES))
    syncHere(fd)
    return { bytes, sum }
  } finally {
    closeSync(fd)
  }
}

function* sumOf(fd: number, bytes: number, buffer: Buffer): Sliced<number> {
  let sum = 0
  for (let at = 0; at < bytes;) {
    const count = readSync(fd, buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (count === 0) throw damaged('is cut short')
    sum = crc32(buffer.subarray(0, count), sum)
    at += count
    yield
  }
  return sum
}

/** The whole file, after its sum was found right. */
export function* readVerified(
  path: string,
  name: string,
  expected: FileSum,
): Sliced<Uint8Array<ArrayBuffer>> {
  const fd = openFile(path, name)
  try {
    if (fstatSync(fd).size !== expected.bytes) throw damaged(`${name} has another length`)
    const out = new Uint8Array(expected.bytes)
    let sum = 0
    for (let at = 0; at < out.length;) {
      const count = readSync(fd, out, at, Math.min(STEP_BYTES, out.length - at), at)
      if (count === 0) throw damaged(`${name} is cut short`)
      sum = crc32(out.subarray(at, at + count), sum)
      at += count
      yield
    }
    if (sum !== expected.sum) throw damaged(`${name} is damaged`)
    return out
  } finally {
    closeSync(fd)
  }
}

/** Reads exactly these bytes; fewer are damage. */
export function readExactly(fd: number, into: Uint8Array, position: number, name: string): void {
  for (let at = 0; at < into.length;) {
    const count = readSync(fd, into, at, into.length - at, position + at)
    if (count === 0) throw damaged(`${name} is cut short`)
    at += count
  }
}

/** Appends to a new file, and sums what it appends. */
export class FileWriter {
  readonly #file: DurableFile
  readonly #buffer = Buffer.allocUnsafe(STEP_BYTES)
  #buffered = 0
  #sum = 0

  constructor(path: string, disk: DiskWork) {
    this.#file = new DurableFile(path, disk)
  }

  *write(bytes: Uint8Array): Paced<void> {
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + this.#buffer.length - this.#buffered)
      this.#buffer.set(part, this.#buffered)
      this.#buffered += part.length
      from += part.length
      if (this.#buffered < this.#buffer.length) return
      this.#append()
      yield* this.#file.keepUp()
      yield
    }
  }

  /** Durable when it ends, as far as the file goes. */
  *finish(): Paced<FileSum> {
    this.#append()
    yield* this.#file.sync()
    this.close()
    return { bytes: this.#file.bytesWritten, sum: this.#sum }
  }

  /** May be called more than once, and at any time. */
  close(): void {
    this.#file.close()
  }

  #append(): void {
    const bytes = this.#buffer.subarray(0, this.#buffered)
    this.#file.append(bytes)
    this.#sum = crc32(bytes, this.#sum)
    this.#buffered = 0
  }
}
