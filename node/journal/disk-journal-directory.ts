// Segments on a real disk. Files are opened with O_DSYNC, so a write returns once it is durable.
// That is one call on the thread pool; write and fdatasync would be two.

import { constants, write } from 'node:fs'
import { mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { diskErrorCode } from '../../lib/disk-error.ts'
import { ServiceError } from '../../lib/errors.ts'
import { syncDirectory } from '../storage/file-replacement.ts'
import type { JournalDirectory, SegmentFile } from './journal-directory.ts'

/** The size of the pieces in which zeros are written. */
const PIECE_BYTES = 1024 * 1024
/** Below this size, copying the parts is cheaper than passing each of them to the system. */
const JOINED_BYTES_MAX = 256 * 1024
/** The maximum of parts in one system call (IOV_MAX). */
const PARTS_MAX = 1024

/** The JournalDirectory of one directory on the disk. */
export class DiskJournalDirectory implements JournalDirectory {
  readonly #path: string

  private constructor(directory: string) {
    this.#path = directory
  }

  /** Opens the directory. Creates a missing one durably. */
  static async open(directory: string): Promise<DiskJournalDirectory> {
    const created = await mkdir(directory, { recursive: true, mode: 0o700 })
    if (created !== undefined) await syncDirectory(path.dirname(directory))
    return new DiskJournalDirectory(directory)
  }

  async list(): Promise<readonly string[]> {
    return readdir(this.#path)
  }

  async open(name: string): Promise<SegmentFile> {
    return new DiskSegmentFile(
      await open(path.join(this.#path, name), constants.O_RDWR | constants.O_DSYNC),
    )
  }

  async allocate(name: string, bytes: number): Promise<void> {
    const file = path.join(this.#path, name)
    const handle = await open(file, 'w', 0o600)
    try {
      const zeros = Buffer.alloc(Math.min(PIECE_BYTES, bytes))
      for (let at = 0; at < bytes; at += zeros.length) {
        await writeAll(handle, [zeros.subarray(0, bytes - at)], at)
      }
      await handle.sync()
    } catch (error) {
      await rm(file, { force: true })
      throw diskErrorCode(error) === 'DISK_FULL' ? fullError(error) : error
    } finally {
      await handle.close()
    }
  }

  rename(from: string, to: string): Promise<void> {
    return rename(path.join(this.#path, from), path.join(this.#path, to))
  }

  remove(name: string): Promise<void> {
    return rm(path.join(this.#path, name))
  }

  sync(): Promise<void> {
    return syncDirectory(this.#path)
  }
}

/** The plain call costs the event loop half as much as the handle's own method, for each batch. */
function writeOnce(fd: number, bytes: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, position, (error, written) => {
      if (error === null) resolve(written)
      else reject(error)
    })
  })
}

class DiskSegmentFile implements SegmentFile {
  readonly #handle: FileHandle

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async write(parts: readonly Uint8Array[], position: number): Promise<void> {
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    if (bytes > JOINED_BYTES_MAX) return writeAll(this.#handle, parts, position)
    const joined = Buffer.concat(parts, bytes)
    const written = await writeOnce(this.#handle.fd, joined, position)
    if (written === bytes) return undefined
    return writeAll(this.#handle, [joined.subarray(written)], position + written)
  }

  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await this.#handle.read(
        bytes,
        filled,
        length - filled,
        position + filled,
      )
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.subarray(0, filled)
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size
  }

  sync(): Promise<void> {
    return this.#handle.sync()
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

/** A system call may write fewer bytes than it was given. */
async function writeAll(
  handle: FileHandle,
  parts: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let left = [...parts]
  let at = position
  while (left.length > 0) {
    const { bytesWritten } = await handle.writev(left.slice(0, PARTS_MAX), at)
    at += bytesWritten
    left = withoutFirst(left, bytesWritten)
  }
}

function withoutFirst(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes
  let first = 0
  for (const part of parts) {
    if (skip < part.length) break
    skip -= part.length
    first += 1
  }
  const rest = parts.slice(first)
  const [head] = rest
  if (head !== undefined && skip > 0) rest[0] = head.subarray(skip)
  return rest
}

function fullError(cause: unknown): ServiceError {
  return new ServiceError('DISK_FULL', 'the disk is full: the journal needs a new segment', {
    cause,
  })
}
