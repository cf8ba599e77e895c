// Files and names that are durable before others rely on them. Nothing here waits in its thread: a computation yields a
// promise, and its caller does other things until that settles.

import { openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Paced } from '../../../lib/sliced.ts'
import type { DiskWork } from './disk-work.ts'

/** A file is synced after each MiB, so that the disk never has much to catch up on. */
const SYNC_BYTES = 2 ** 20

/**
 * A new file that is written from its beginning.
 *
 * Invariants:
 *   DF1  A sync that failed is thrown by the next `keepUp` or `sync`: the system reports each failure once.
 *   DF2  The descriptor is closed once, and not while a sync is under way.
 */
export class DurableFile {
  readonly #fd: number
  readonly #disk: DiskWork
  #written = 0
  #synced = 0
  #syncing: Syncing | undefined
  #isOpen = true

  constructor(file: string, disk: DiskWork) {
    this.#fd = openSync(file, 'w', 0o600)
    this.#disk = disk
  }

  get bytesWritten(): number {
    return this.#written
  }

  append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at)
    this.#written += bytes.length
  }

  /** Lets the disk fall behind by two pieces of `SYNC_BYTES`, one of which is being synced. */
  *keepUp(): Paced<void> {
    if (this.#written < this.#synced + SYNC_BYTES) return
    yield* this.#settle()
    this.#begin()
  }

  /** All that was written is durable when it ends, as far as the file goes. */
  *sync(): Paced<void> {
    yield* this.#settle()
    this.#begin()
    yield* this.#settle()
  }

  /** It may be called more than once, and at any time. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const close = (): void => this.#disk.close(this.#fd)
    if (this.#syncing === undefined) close()
    else this.#syncing.whenOver(close)
  }

  #begin(): void {
    this.#synced = this.#written
    this.#syncing = new Syncing(this.#fd, this.#disk)
  }

  *#settle(): Paced<void> {
    if (this.#syncing !== undefined) yield* this.#syncing.settle()
    this.#syncing = undefined
  }
}

/** One sync of a descriptor. */
class Syncing {
  readonly #over = Promise.withResolvers<void>()
  #outcome: { readonly error: Error | undefined } | undefined
  #onOver: (() => void) | undefined

  constructor(fd: number, disk: DiskWork) {
    disk.sync(fd, (error) => {
      this.#outcome = { error }
      this.#onOver?.()
      this.#over.resolve()
    })
  }

  whenOver(callback: () => void): void {
    if (this.#outcome === undefined) this.#onOver = callback
    else callback()
  }

  *settle(): Paced<void> {
    while (this.#outcome === undefined) yield this.#over.promise
    if (this.#outcome.error !== undefined) throw this.#outcome.error
  }
}

/** A new file with these bytes. It is durable when it ends, as far as the file goes. */
export function* writeDurably(file: string, bytes: Uint8Array, disk: DiskWork): Paced<void> {
  const out = new DurableFile(file, disk)
  try {
    out.append(bytes)
    yield* out.sync()
  } finally {
    out.close()
  }
}

/** The names in a directory are durable when it ends. */
function* syncDirectory(directory: string, disk: DiskWork): Paced<void> {
  const fd = openSync(directory, 'r')
  const syncing = new Syncing(fd, disk)
  try {
    yield* syncing.settle()
  } finally {
    syncing.whenOver(() => disk.close(fd))
  }
}

/** A crash at any moment leaves the file that was there, or this one. What it names has to be durable before. */
export function* replaceDurably(file: string, bytes: Uint8Array, disk: DiskWork): Paced<void> {
  const directory = path.dirname(file)
  yield* syncDirectory(directory, disk)
  yield* writeDurably(`${file}.new`, bytes, disk)
  renameSync(`${file}.new`, file)
  yield* syncDirectory(directory, disk)
}

/** The name is gone when it returns, and the space soon. A file that is not there is no error. */
export function removeFile(file: string, disk: DiskWork): void {
  const fd = openIfThere(file)
  rmSync(file, { force: true })
  if (fd !== undefined) disk.close(fd)
}

/** As `removeFile`, of a directory of files. */
export function removeDirectory(directory: string, disk: DiskWork): void {
  const held = namesIn(directory).map((name) => openIfThere(path.join(directory, name)))
  rmSync(directory, { recursive: true, force: true })
  for (const fd of held) if (fd !== undefined) disk.close(fd)
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** An open file keeps its blocks when its name is removed. */
function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
