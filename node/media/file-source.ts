// Reads `file:` URLs under the allowed directories. A link may lead anywhere, and may be changed while
// the file is opened, so the file that is open is compared with the one whose path was checked.

import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DownloadMemory } from '../../lib/media/media-downloader.ts'
import { refuseMedium } from './media-error.ts'

const CHUNK_BYTES = 1024 * 1024

/** What a file may be, and the account of its bytes. */
export interface FileOptions {
  readonly allowedDirectories: readonly string[]
  readonly bytesMax: number
  readonly memory: DownloadMemory
  readonly signal: AbortSignal
}

/**
 * The bytes of the file. Rejects with INVALID_ARGUMENT for a file outside the allowed directories,
 * whether or not it is there, for what is not a regular file, and for one that is too large.
 */
export async function readMediaFile(url: URL, options: FileOptions): Promise<Buffer> {
  if (options.allowedDirectories.length === 0) throw refuseMedium('file: is not allowed here')
  if (url.host !== '') throw refuseMedium('a file: URL must not name a host')
  const asked = pathOf(url)
  const real = await allowedPath(asked, options.allowedDirectories)
  const checked = await stat(real)
  if (!checked.isFile()) throw refuseMedium('it is not a regular file')
  // Without blocking, because a pipe may have taken the file's place.
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch(notReadable)
  try {
    const opened = await handle.stat()
    const now = await stat(await allowedPath(asked, options.allowedDirectories))
    if (!isSameFile(opened, checked) || !isSameFile(opened, now)) {
      throw refuseMedium('the file was replaced while it was opened')
    }
    return await readBounded(handle, opened.size, options)
  } finally {
    await handle.close()
  }
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url)
  } catch (cause) {
    throw refuseMedium('it is not the URL of a file', cause)
  }
}

/** The path without links, if it lies under an allowed directory. */
async function allowedPath(asked: string, directories: readonly string[]): Promise<string> {
  // A path outside is refused before the disk is looked at, so that nobody learns what is there.
  if (!directories.some((directory) => isUnder(asked, path.resolve(directory)))) throw outside()
  const real = await realpath(asked).catch(notReadable)
  for (const directory of directories) {
    const root = await realpath(directory).catch(() => undefined)
    if (root !== undefined && isUnder(real, root)) return real
  }
  throw outside()
}

function isUnder(file: string, directory: string): boolean {
  const way = path.relative(directory, file)
  return way !== '' && way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way)
}

function isSameFile(one: Stats, other: Stats): boolean {
  return one.isFile() && one.dev === other.dev && one.ino === other.ino
}

async function readBounded(
  handle: FileHandle,
  size: number,
  { bytesMax, memory, signal }: FileOptions,
): Promise<Buffer> {
  if (size > bytesMax) throw refuseMedium(`it is larger than ${bytesMax} bytes`)
  await memory.add(size)
  const bytes = Buffer.allocUnsafeSlow(size)
  let at = 0
  while (at < size) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(bytes, at, Math.min(CHUNK_BYTES, size - at), at)
    if (bytesRead === 0) break // it was cut meanwhile
    at += bytesRead
  }
  return bytes.subarray(0, at)
}

function outside(): Error {
  return refuseMedium('the file lies outside the allowed directories')
}

function notReadable(cause: unknown): never {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'
  throw refuseMedium(`the file cannot be read (${code})`, cause)
}
