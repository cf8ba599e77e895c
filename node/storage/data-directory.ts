// The directory that holds everything a node keeps. Format: docs/formats/data-directory.md.

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { replaceFile, syncDirectory } from './durable-file.ts'
import { isLockedError, levelError } from './level-error.ts'
import { LevelKvStore } from './level-kv-store.ts'

const FORMAT = 'quarry-data'
/** 2: the journal. 3: ordinals of documents. */
const FORMAT_VERSION = 3
const FORMAT_FILE = 'format.json'
const LOCK = 'lock'
/** What a directory without a format file may hold: a fresh volume's, or a first start's leavings. */
const HARMLESS: ReadonlySet<string> = new Set([LOCK, `${FORMAT_FILE}.new`, 'lost+found'])

export interface DataDirectoryOptions {
  readonly clock: Clock
  /** Names a new data directory, for life. Default: a random UUID. */
  readonly newId?: () => string
}

/** Held exclusively until closed. */
export interface DataDirectory extends AsyncDisposable {
  readonly path: string
  /** Tells a copied or replaced disk from the one that a cluster knows. */
  readonly id: string
  /** What `format.json` said at the opening: the directory's content is of this format. */
  readonly formatVersion: number
  /** Says that the content is of the newest format now. */
  markConverted(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens or creates the data directory at `directory` and locks it for this process.
 * - A directory in use, by whatever process, is UNAVAILABLE.
 * - One with other files and no format file, or with a newer format, is INVALID_ARGUMENT.
 * - The lock is the operating system's (LevelDB's own), so it never outlives the process.
 */
export async function openDataDirectory(
  directory: string,
  options: DataDirectoryOptions,
): Promise<DataDirectory> {
  const absolute = path.resolve(directory)
  await createDirectory(absolute)
  await refuseForeign(absolute)
  const lock = await lockDirectory(absolute, options.clock)
  try {
    const { id, version } = await readOrCreateFormat(absolute, options.newId ?? randomUUID)
    const close = (): Promise<void> => lock.close()
    const markConverted = (): Promise<void> => writeFormat(absolute, id)
    return {
      path: absolute,
      id,
      formatVersion: version,
      markConverted,
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await lock.close()
    throw error
  }
}

async function createDirectory(directory: string): Promise<void> {
  try {
    await createBelow(directory, path.parse(directory).root)
  } catch (error) {
    throw levelError(error, directory)
  }
}

/**
 * Step by step, because Node's recursive mkdir never ends where a file system has a directory in which
 * nothing can be made, as /proc has.
 */
async function createBelow(directory: string, root: string): Promise<void> {
  if (directory === root || (await isDirectory(directory))) return
  const parent = path.dirname(directory)
  await createBelow(parent, root)
  await mkdir(directory, { mode: 0o700 })
  await syncDirectory(parent)
}

async function isDirectory(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).isDirectory()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

async function refuseForeign(directory: string): Promise<void> {
  const names = await readdir(directory)
  if (names.includes(FORMAT_FILE)) return
  const foreign = names.find((name) => !HARMLESS.has(name))
  if (foreign === undefined) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `${directory} holds "${foreign}" and no ${FORMAT_FILE}, so it is not a data directory; ` +
      'use an empty directory for --data-dir',
  )
}

async function lockDirectory(directory: string, clock: Clock): Promise<LevelKvStore> {
  try {
    return await LevelKvStore.open(path.join(directory, LOCK), { clock, cacheBytes: 0 })
  } catch (error) {
    if (!isLockedError(error)) throw error
    throw new ServiceError(
      'UNAVAILABLE',
      `the data directory ${directory} is in use by another process; ` +
        'stop it or use another --data-dir',
      { cause: error },
    )
  }
}

async function readOrCreateFormat(directory: string, newId: () => string): Promise<Format> {
  const file = path.join(directory, FORMAT_FILE)
  const text = await readIfPresent(file)
  if (text !== undefined) return parseFormat(text, file)
  const id = newId()
  await writeFormat(directory, id)
  return { id, version: FORMAT_VERSION }
}

async function writeFormat(directory: string, id: string): Promise<void> {
  const format = { format: FORMAT, version: FORMAT_VERSION, id }
  try {
    await replaceFile(path.join(directory, FORMAT_FILE), `${JSON.stringify(format)}\n`)
  } catch (error) {
    throw levelError(error, directory)
  }
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function parseFormat(text: string, file: string): Format {
  const found = parseJson(text)
  if (!isFormat(found)) {
    throw new ServiceError('CORRUPTION', `${file} is damaged; restore it from a backup`)
  }
  if (found.version > FORMAT_VERSION) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${file} says format version ${found.version}, and this program knows up to ` +
        `${FORMAT_VERSION}; start a newer version of the program`,
    )
  }
  return found
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Format {
  readonly version: number
  readonly id: string
}

function isFormat(value: unknown): value is Format {
  if (typeof value !== 'object' || value === null) return false
  if (!('format' in value && 'version' in value && 'id' in value)) return false
  const { format, version, id } = value
  if (format !== FORMAT || typeof id !== 'string' || id.length === 0) return false
  return typeof version === 'number' && Number.isInteger(version) && version >= 1
}
