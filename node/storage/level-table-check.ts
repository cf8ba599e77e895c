// Compares the blocks of LevelDB's table files with their checksums. LevelDB itself does not do that when it
// reads, and classic-level cannot ask it to. The format is that of LevelDB's doc/table_format.md.
//
//   data blocks … meta block, index block, footer (48 bytes)
//   block:  content, type (1 byte: 0 plain, 1 Snappy), masked CRC-32C of both (4 bytes)
//
// A table file never changes after it was written, so it can be read beside the running database. One that
// is being written has no footer yet, and one may be removed at any moment.

import { open, readdir, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { crc32c } from './crc32c.ts'
import { readVarint, unpackSnappy } from './snappy.ts'

const TABLE = /^\d+\.(?:ldb|sst)$/
const FOOTER_BYTES = 48
/** 0xdb4775248b80fb57, the lower half first. */
const MAGIC = Buffer.from('57fb808b247547db', 'hex')
/** Type and checksum behind the content of a block. */
const TRAILER_BYTES = 5
const SNAPPY = 1
/** About two milliseconds of work. */
const STEP_BYTES = 512 * 1024
const MASK_DELTA = 0xa282ead8
/** No block of ours is longer: an entry has 512 MiB at most. */
const BLOCK_BYTES_MAX = 600 * 1024 * 1024

/** How a check of tables runs. */
export interface TableCheckOptions {
  /** Called with the bytes that are read next; it may wait, and ends the check by throwing. */
  readonly pace: (bytes: number) => Promise<void>
  /** The wall clock. A file that was changed less than `settledMs` ago may be being written. */
  readonly nowMs: () => number
  readonly settledMs: number
}

/**
 * Reads all table files of a database once. Answers CORRUPTION with file and offset for the first block
 * that does not match its checksum, or undefined. Files that are young, or removed meanwhile, are left out.
 */
export async function findDamagedTable(
  directory: string,
  options: TableCheckOptions,
): Promise<ServiceError | undefined> {
  for (const name of (await readdir(directory)).filter((one) => TABLE.test(one)).toSorted()) {
    const file = path.join(directory, name)
    if (!(await isSettled(file, options))) continue
    const damage = await damageIn(file, options)
    if (damage !== undefined) return damage
  }
  return undefined
}

async function isSettled(
  file: string,
  { nowMs, settledMs }: Pick<TableCheckOptions, 'nowMs' | 'settledMs'>,
): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(file)
    return nowMs() - mtimeMs >= settledMs
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

async function damageIn(
  file: string,
  { pace }: Pick<TableCheckOptions, 'pace'>,
): Promise<ServiceError | undefined> {
  let handle: FileHandle
  try {
    handle = await open(file, 'r')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
  try {
    await checkTable({ handle, file, pace })
    return undefined
  } catch (error) {
    if (isServiceError(error) && error.code === 'CORRUPTION') return error
    throw error
  } finally {
    await handle.close()
  }
}

interface OpenTable {
  readonly handle: FileHandle
  readonly file: string
  readonly pace: (bytes: number) => Promise<void>
}

/** Where a block is, without its trailer. */
interface BlockHandle {
  readonly offset: number
  readonly bytes: number
}

async function checkTable(table: OpenTable): Promise<void> {
  const { handle, file } = table
  const { size } = await handle.stat()
  if (size < FOOTER_BYTES) throw damaged(file, 0, 'it is cut short')
  const footer = await readAt(handle, { offset: size - FOOTER_BYTES, bytes: FOOTER_BYTES })
  if (!footer.subarray(-MAGIC.length).equals(MAGIC)) throw damaged(file, size, 'its end is damaged')
  const meta = blockHandleAt(footer, 0)
  const index = blockHandleAt(footer, meta.next)
  for (const at of [meta, index]) assertInside(at, { file, size })
  const inMeta = await checkedHandles(table, meta)
  const inIndex = await checkedHandles(table, index)
  for (const block of [...inMeta, ...inIndex]) {
    assertInside(block, { file, size })
    await checkBlock(table, block)
  }
}

function assertInside(
  { offset, bytes }: BlockHandle,
  { file, size }: { readonly file: string; readonly size: number },
): void {
  if (offset + bytes + TRAILER_BYTES <= size && bytes <= BLOCK_BYTES_MAX) return
  throw damaged(file, offset, 'a block is not inside')
}

/** Reads a block in steps, because one entry may be long. Throws CORRUPTION if it does not match its checksum. */
async function checkBlock({ handle, file, pace }: OpenTable, at: BlockHandle): Promise<void> {
  const end = at.offset + at.bytes + 1
  let crc = 0
  for (let offset = at.offset; offset < end; offset += STEP_BYTES) {
    const bytes = Math.min(STEP_BYTES, end - offset)
    await pace(bytes)
    crc = crc32c(await readAt(handle, { offset, bytes }), crc)
    await nextTurn()
  }
  const stored = await readAt(handle, { offset: end, bytes: TRAILER_BYTES - 1 })
  if (stored.length < TRAILER_BYTES - 1 || unmasked(stored.readUInt32LE()) !== crc) {
    throw damaged(file, at.offset, 'a block does not match its checksum')
  }
}

/** The handles in an index block, which is short. */
async function checkedHandles(table: OpenTable, at: BlockHandle): Promise<readonly BlockHandle[]> {
  await checkBlock(table, at)
  const stored = await readAt(table.handle, { offset: at.offset, bytes: at.bytes + 1 })
  const content = stored.subarray(0, at.bytes)
  return handlesIn(stored[at.bytes] === SNAPPY ? unpackSnappy(content) : content)
}

/** The handles that the entries of an index block have as values. Its keys do not matter here. */
function handlesIn(block: Buffer): readonly BlockHandle[] {
  const restarts = block.readUInt32LE(block.length - 4)
  const end = block.length - 4 * (restarts + 1)
  const handles: BlockHandle[] = []
  for (let at = 0; at < end;) {
    const shared = readVarint(block, at)
    const unshared = readVarint(block, shared.next)
    const length = readVarint(block, unshared.next)
    const value = length.next + unshared.value
    handles.push(blockHandleAt(block, value))
    at = value + length.value
  }
  return handles
}

function blockHandleAt(from: Buffer, at: number): BlockHandle & { readonly next: number } {
  const offset = readVarint(from, at)
  const size = readVarint(from, offset.next)
  return { offset: offset.value, bytes: size.value, next: size.next }
}

async function readAt(handle: FileHandle, { offset, bytes }: BlockHandle): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  const { bytesRead } = await handle.read(buffer, 0, bytes, offset)
  return buffer.subarray(0, bytesRead)
}

/** LevelDB masks checksums, because a CRC of bytes that hold their CRC says little. */
function unmasked(masked: number): number {
  const rotated = (masked - MASK_DELTA) >>> 0
  return ((rotated >>> 17) | (rotated << 15)) >>> 0
}

function damaged(file: string, offset: number, what: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `table file ${file} is damaged at offset ${offset}: ${what}; build the replica anew from another one`,
  )
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
