// The bytes of one file of a segment, written and read in steps. Nothing here knows what they mean.

import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'

/** Read, written or summed in some tenths of a millisecond. */
const STEP_BYTES = 256 * 1024

/** How long a file is, and the CRC-32 of its bytes. */
export interface FileSum {
  readonly bytes: number
  readonly sum: number
}

/** Every fault of a file of ours: the index is built again. */
export function damaged(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `the vector index file ${what}; rebuild the index`)
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

/** Syncs a file that another library wrote, and answers its length and sum. */
export function* sumWritten(path: string): Sliced<FileSum> {
  const fd = openSync(path, 'r+')
  try {
    const { size: bytes } = fstatSync(fd)
    const sum = yield* sumOf(fd, bytes, Buffer.allocUnsafe(STEP_BYTES))
    fsyncSync(fd)
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

/** Synced after as many bytes, so that no single sync takes long. */
const SYNC_BYTES = 2 ** 20

/** Appends to a new file. */
export class FileWriter {
  readonly #fd: number
  readonly #buffer = Buffer.allocUnsafe(STEP_BYTES)
  #buffered = 0
  #written = 0
  #synced = 0
  #sum = 0
  #isOpen = true

  constructor(path: string) {
    this.#fd = openSync(path, 'w', 0o600)
  }

  *write(bytes: Uint8Array): Sliced<void> {
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + this.#buffer.length - this.#buffered)
      this.#buffer.set(part, this.#buffered)
      this.#buffered += part.length
      from += part.length
      if (this.#buffered < this.#buffer.length) return
      this.#append()
      yield
    }
  }

  /** Durable when it returns, as far as the file goes. */
  finish(): FileSum {
    this.#append()
    fsyncSync(this.#fd)
    this.close()
    return { bytes: this.#written, sum: this.#sum }
  }

  /** May be called more than once. */
  close(): void {
    if (this.#isOpen) closeSync(this.#fd)
    this.#isOpen = false
  }

  #append(): void {
    const bytes = this.#buffer.subarray(0, this.#buffered)
    for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at)
    this.#sum = crc32(bytes, this.#sum)
    this.#written += bytes.length
    this.#buffered = 0
    if (this.#written < this.#synced + SYNC_BYTES) return
    fsyncSync(this.#fd)
    this.#synced = this.#written
  }
}
