// The directory with all files of a node. Format: docs/reference/formats/data-directory.md.

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { replaceFile, syncDirectory } from './file-replacement.ts'
import { isLockedError, levelError } from './level-error.ts'
import { LevelKvStore } from './level-kv-store.ts'

const FORMAT = 'quarry-data'
/**
 * Version 2 added the journal. Version 3 added the ordinals of documents, keys of their own for shards in
 * the catalog, and key intervals for participants. Version 4 is version 3 with marks in the journal, which
 * nodes of a cluster alone had. Version 5 has checksums before the values of the stores, and allows marks.
 */
const FORMAT_VERSION = 5
/** A directory of this version needs no conversion. */
const FORMAT_VERSION_CONVERTED = 3
/** Since this version `format.json` has a checksum itself. */
const FORMAT_VERSION_WITH_CRC = 5
const FORMAT_FILE = 'format.json'
const LOCK = 'lock'
/**
 * The names that may stand in a directory without a format file: those of a fresh volume, or of an
 * interrupted first start.
 */
const HARMLESS: ReadonlySet<string> = new Set([LOCK, `${FORMAT_FILE}.new`, 'lost+found'])

/** How to open a data directory. */
export interface DataDirectoryOptions {
  readonly clock: Clock
  /** Makes the id of a new data directory. The default is a random UUID. */
  readonly newId?: () => string
}

/** An open data directory. This process holds it exclusively until `close`. */
export interface DataDirectory extends AsyncDisposable {
  readonly path: string
  /** Identifies the directory for its whole life, so a copied or replaced disk is noticed. */
  readonly id: string
  /** The format of the directory's content, from `format.json` at the opening. */
  readonly formatVersion: number
  /**
   * Records that the content was converted to the format of new directories, once and permanently: programs
   * that do not know it refuse the directory from then on.
   */
  markConverted(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens or creates the data directory at `directory` and locks it for this process.
 * - A directory that any process holds is UNAVAILABLE.
 * - A directory with other files and no format file, or with a newer format, is INVALID_ARGUMENT.
 * - The lock is the operating system's (LevelDB's own), so it never outlives the process.
 */
export async function openDataDirectory(
  directory: string,
  options: DataDirectoryOptions,
): Promise<DataDirectory> {
  const absolute = path.resolve(directory)
  await createDirectory(absolute)
  try {
    await refuseForeign(absolute)
  } catch (error) {
    throw unusable(error, absolute) ?? error
  }
  const lock = await lockDirectory(absolute, options.clock)
  try {
    const { id, version } = await currentFormat(absolute, options.newId ?? randomUUID)
    const close = (): Promise<void> => lock.close()
    const markConverted = (): Promise<void> =>
      writeFormat(absolute, { id, version: FORMAT_VERSION })
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
    throw unusable(error, directory) ?? levelError(error, directory)
  }
}

const UNUSABLE: Readonly<Record<string, string>> = {
  EEXIST: 'is a file, not a directory: name a directory with --data-dir',
  ENOTDIR: 'lies below a file: name a directory with --data-dir',
  ENOENT: 'cannot be created there: name another directory with --data-dir',
  EACCES:
    'may not be used by this user: change the rights, or name another directory with --data-dir',
  EPERM:
    'may not be used by this user: change the rights, or name another directory with --data-dir',
  EROFS: 'is on a disk that takes no writes: name another directory with --data-dir',
}

/** What a person can mend; undefined for what the disk refuses for another reason. */
function unusable(error: unknown, directory: string): ServiceError | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const why = UNUSABLE[code]
  if (why === undefined) return undefined
  const message = `the data directory ${directory} ${why}`
  return new ServiceError('UNAVAILABLE', message, { cause: error })
}

/**
 * Creates one level at a time. Node's recursive mkdir never returns below a directory that refuses
 * every new entry, such as /proc.
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
  const lock = path.join(directory, LOCK)
  const open = (): Promise<LevelKvStore> => LevelKvStore.open(lock, { clock, cacheBytes: 0 })
  try {
    return await open().catch(async (error: unknown) => {
      if (!isServiceError(error) || error.code !== 'CORRUPTION') throw error
      // Nobody holds it, since LevelDB locks before it reads; and there is nothing to lose in it.
      await rm(path.join(lock, 'CURRENT'))
      return open()
    })
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

/** The format, raised where nothing has to be converted: before anything of the newest format is written. */
async function currentFormat(directory: string, newId: () => string): Promise<Format> {
  const found = await readOrCreateFormat(directory, newId)
  if (found.version < FORMAT_VERSION_CONVERTED || found.version === FORMAT_VERSION) return found
  const raised = { id: found.id, version: FORMAT_VERSION }
  await writeFormat(directory, raised)
  return raised
}

async function readOrCreateFormat(directory: string, newId: () => string): Promise<Format> {
  const file = path.join(directory, FORMAT_FILE)
  const text = await readIfPresent(file)
  if (text !== undefined) return parseFormat(text, file)
  const id = newId()
  const format = { id, version: FORMAT_VERSION }
  await writeFormat(directory, format)
  return format
}

async function writeFormat(directory: string, { id, version }: Format): Promise<void> {
  const format = { format: FORMAT, version, id }
  try {
    const text = JSON.stringify({ ...format, crc: crcOf(format) })
    await replaceFile(path.join(directory, FORMAT_FILE), `${text}\n`)
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
  if (!isFormat(found)) throw damaged(file)
  assertWhole(found, file)
  if (found.version > FORMAT_VERSION) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${file} has format version ${found.version}, but this program supports up to ` +
        `${FORMAT_VERSION}; start a newer version of the program`,
    )
  }
  return found
}

/** A damaged digit would name another version, or another node. */
function assertWhole({ crc, ...stored }: StoredFormat, file: string): void {
  if (crc === undefined && stored.version < FORMAT_VERSION_WITH_CRC) return
  if (crc !== crcOf(stored)) throw damaged(file)
}

/** The members keep their order in a file, so their text is the same again. */
function crcOf(format: Format): string {
  return crc32(JSON.stringify(format)).toString(16).padStart(8, '0')
}

function damaged(file: string): ServiceError {
  return new ServiceError('CORRUPTION', `${file} is damaged; restore it from a backup`)
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

interface StoredFormat extends Format {
  readonly crc?: unknown
}

function isFormat(value: unknown): value is StoredFormat {
  if (typeof value !== 'object' || value === null) return false
  if (!('format' in value && 'version' in value && 'id' in value)) return false
  const { format, version, id } = value
  if (format !== FORMAT || typeof id !== 'string' || id.length === 0) return false
  return typeof version === 'number' && Number.isInteger(version) && version >= 1
}
