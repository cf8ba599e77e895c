// What is known of one file of a traced process: what is on the disk for good, and what may be.

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import type { Random } from '../../../lib/random.ts'

const PAGE_BYTES = 4096
/** What a disk writes whole or not at all. */
const SECTOR_BYTES = 512

/** Bytes of which most may be zeros. */
export class SparseBytes {
  size = 0
  readonly #pages = new Map<number, Buffer>()

  copy(): SparseBytes {
    const copy = new SparseBytes()
    copy.size = this.size
    for (const [number, page] of this.#pages) copy.#pages.set(number, Buffer.from(page))
    return copy
  }

  write(at: number, bytes: Buffer): void {
    this.size = Math.max(this.size, at + bytes.length)
    for (let from = 0; from < bytes.length;) {
      const number = Math.floor((at + from) / PAGE_BYTES)
      const offset = at + from - number * PAGE_BYTES
      const piece = bytes.subarray(from, from + PAGE_BYTES - offset)
      piece.copy(this.#page(number, piece), offset)
      from += piece.length
    }
  }

  resize(size: number): void {
    const last = Math.floor(size / PAGE_BYTES)
    for (const [number, page] of this.#pages) {
      if (number > last) this.#pages.delete(number)
      else if (number === last) page.fill(0, size - number * PAGE_BYTES)
    }
    this.size = size
  }

  save(file: string): void {
    const descriptor = openSync(file, 'w')
    ftruncateSync(descriptor, this.size)
    for (const [number, page] of this.#pages) {
      const at = number * PAGE_BYTES
      if (at < this.size) writeSync(descriptor, page, 0, Math.min(PAGE_BYTES, this.size - at), at)
    }
    closeSync(descriptor)
  }

  /** Zeros where there is nothing take no page. */
  #page(number: number, piece: Buffer): Buffer {
    const known = this.#pages.get(number)
    if (known !== undefined) return known
    const page = Buffer.alloc(PAGE_BYTES)
    if (!page.subarray(0, piece.length).equals(piece)) this.#pages.set(number, page)
    return page
  }
}

/** Bytes at an offset, or a new length. */
export interface FileChange {
  readonly at: number
  /** Undefined: the file ends at the offset. */
  readonly bytes: Buffer | undefined
  /** Whether the call has returned: a sync covers what was complete when it began. */
  isComplete: boolean
}

export class TracedFile {
  /** As of the last change, whether it is on the disk or not. */
  size = 0
  readonly #synced = new SparseBytes()
  #unsynced: FileChange[] = []

  change(at: number, bytes: Buffer | undefined): FileChange {
    const change = { at, bytes, isComplete: false }
    this.#unsynced.push(change)
    return change
  }

  /** A write may take less than it was given. */
  complete(change: FileChange, length: number): FileChange {
    const bytes = change.bytes?.subarray(0, length)
    const complete = { ...change, bytes, isComplete: true }
    this.#unsynced[this.#unsynced.indexOf(change)] = complete
    const end = change.at + (bytes?.length ?? 0)
    this.size = bytes === undefined ? end : Math.max(this.size, end)
    return complete
  }

  /** What a sync that begins now makes durable. */
  covered(): readonly FileChange[] {
    return this.#unsynced.filter(({ isComplete }) => isComplete)
  }

  /** Whether that changed what is on the disk for good. */
  sync(covered: readonly FileChange[]): boolean {
    if (covered.length === 0) return false
    for (const { at, bytes } of covered) applyChange(this.#synced, at, bytes)
    const isCovered = new Set(covered)
    this.#unsynced = this.#unsynced.filter((change) => !isCovered.has(change))
    return true
  }

  /** As a power failure now would leave it; without chance, only what was synced. */
  afterFailure(random: Random | undefined): SparseBytes {
    if (random === undefined || this.#unsynced.length === 0) return this.#synced
    const image = this.#synced.copy()
    const sizes = new SparseBytes()
    sizes.size = image.size
    const sizeAfter = Math.floor(random() * (this.#unsynced.length + 1))
    /** A sector holds what was in memory at some moment: the changes up to one of them. */
    const reached = new Map<number, number>()
    for (const [index, { at, bytes }] of this.#unsynced.entries()) {
      if (index < sizeAfter) sizes.size = bytes ? Math.max(sizes.size, at + bytes.length) : at
      for (const [sector, piece] of bytes === undefined ? [] : sectorsOf(at, bytes)) {
        const upTo = reached.get(sector) ?? Math.floor(random() * (this.#unsynced.length + 1))
        reached.set(sector, upTo)
        if (index < upTo) image.write(Math.max(at, sector * SECTOR_BYTES), piece)
      }
    }
    image.resize(sizes.size)
    return image
  }

  /** As the running system shows it. */
  now(): SparseBytes {
    const image = this.#synced.copy()
    for (const { at, bytes } of this.covered()) applyChange(image, at, bytes)
    return image
  }
}

function applyChange(image: SparseBytes, at: number, bytes: Buffer | undefined): void {
  if (bytes === undefined) image.resize(at)
  else image.write(at, bytes)
}

function* sectorsOf(at: number, bytes: Buffer): IterableIterator<readonly [number, Buffer]> {
  for (let from = 0; from < bytes.length;) {
    const sector = Math.floor((at + from) / SECTOR_BYTES)
    const end = Math.min(bytes.length, (sector + 1) * SECTOR_BYTES - at)
    yield [sector, bytes.subarray(from, end)]
    from = end
  }
}
