// The messages about snapshots, except pages. Format: docs/reference/formats/replica-snapshot.md.

import { assert } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { LogPosition } from '../core/log-index.ts'
import { FILES_MAX } from './snapshot-limits.ts'

const FORMAT = 1
const ID_BYTES = 16
const HASH_BYTES = 32
const LOG_ID = /^[0-9a-f]{16}$/
/** No separators and no dot in front, so a name stays inside its directory. */
const FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/

/** The operations of the peer protocol. They are a part of the protocol: add, never change. */
export const SNAPSHOT_OPERATIONS = { open: 16, pages: 17, close: 18, contentHash: 19 } as const

/** What a node asks for. A replica that has applied less than `atLeast` refuses. */
export interface OpenRequest {
  readonly logId: string
  readonly atLeast: number
}

/** A file of an index of the shard. `directory` is the name of the index's directory. */
export interface SnapshotFile {
  readonly directory: string
  readonly name: string
  readonly bytes: number
}

/** What a snapshot has. */
export interface SnapshotHeader {
  /** In hexadecimal digits. */
  readonly id: string
  /** The last log entry whose effects are in the store. */
  readonly position: LogPosition
  /** Roughly, for showing progress. */
  readonly storeBytes: number
  /** In the order in which their bytes come. */
  readonly files: readonly SnapshotFile[]
}

/** After which page a reader continues. */
export interface PageMark {
  /** The number of the last whole page; 0 before the first. */
  readonly number: number
  readonly crc: number
}

export const FIRST_PAGE: PageMark = { number: 0, crc: 0 }

/** Which pages of which snapshot are wanted. */
export interface PagesRequest {
  readonly id: string
  readonly after: PageMark
}

/** The content hash of a log's replica is wanted, as of this entry. */
export interface HashRequest {
  readonly logId: string
  readonly sequence: number
}

/** The content hash of a store at a position. */
export interface HashedContent {
  readonly position: LogPosition
  readonly hash: Buffer
}

export function encodeOpen({ logId, atLeast }: OpenRequest): Buffer {
  return Buffer.concat([Buffer.of(FORMAT), text(logId), u48(atLeast)])
}

export function decodeOpen(bytes: Buffer): OpenRequest {
  const reader = new FieldReader(bytes)
  return reader.whole({ logId: reader.logId(), atLeast: reader.u48() })
}

export function encodeHashRequest({ logId, sequence }: HashRequest): Buffer {
  return encodeOpen({ logId, atLeast: sequence })
}

export function decodeHashRequest(bytes: Buffer): HashRequest {
  const { logId, atLeast: sequence } = decodeOpen(bytes)
  return { logId, sequence }
}

export function encodePages({ id, after }: PagesRequest): Buffer {
  return Buffer.concat([encodeId(id), u32(after.number), u32(after.crc)])
}

export function decodePages(bytes: Buffer): PagesRequest {
  const reader = new FieldReader(bytes)
  return reader.whole({
    id: reader.raw(ID_BYTES).toString('hex'),
    after: { number: reader.u32(), crc: reader.u32() },
  })
}

/** The request to close a snapshot. */
export function encodeId(id: string): Buffer {
  const bytes = Buffer.from(id, 'hex')
  assert(bytes.length === ID_BYTES, 'the id of a snapshot has 16 bytes')
  return Buffer.concat([Buffer.of(FORMAT), bytes])
}

export function decodeId(bytes: Buffer): string {
  const reader = new FieldReader(bytes)
  return reader.whole(reader.raw(ID_BYTES).toString('hex'))
}

export function encodeHeader({ id, position, storeBytes, files }: SnapshotHeader): Buffer {
  const listed = files.flatMap(({ directory, name, bytes }) => {
    return [text(directory), text(name), u48(bytes)]
  })
  return Buffer.concat([
    encodeId(id),
    encodePosition(position),
    u48(storeBytes),
    u32(files.length),
    ...listed,
  ])
}

/** Throws CORRUPTION for a header that names a file outside of its directory, or one twice. */
export function decodeHeader(bytes: Buffer): SnapshotHeader {
  const reader = new FieldReader(bytes)
  const id = reader.raw(ID_BYTES).toString('hex')
  const position = reader.position()
  const storeBytes = reader.u48()
  const count = reader.u32()
  if (count > FILES_MAX) throw malformed(`${count} files`)
  const files: SnapshotFile[] = []
  const names = new Set<string>()
  for (let at = 0; at < count; at++) {
    const file = { directory: reader.fileName(), name: reader.fileName(), bytes: reader.u48() }
    const path = `${file.directory}/${file.name}`
    if (names.has(path)) throw malformed(`two files ${path}`)
    names.add(path)
    files.push(file)
  }
  return reader.whole({ id, position, storeBytes, files })
}

export function encodeHash({ position, hash }: HashedContent): Buffer {
  return Buffer.concat([Buffer.of(FORMAT), encodePosition(position), hash])
}

export function decodeHash(bytes: Buffer): HashedContent {
  const reader = new FieldReader(bytes)
  return reader.whole({ position: reader.position(), hash: reader.raw(HASH_BYTES) })
}

function encodePosition({ sequence, epoch, crc }: LogPosition): Buffer {
  return Buffer.concat([u48(sequence), u32(epoch), u32(crc)])
}

export function isSamePosition(a: LogPosition, b: LogPosition): boolean {
  return a.sequence === b.sequence && a.epoch === b.epoch && a.crc === b.crc
}

/** Whether an index may have a directory or file of this name in a snapshot. */
export function isFileName(name: string): boolean {
  return FILE_NAME.test(name)
}

/** Reads the fields of one message; CORRUPTION for one that is cut short, too long or malformed. */
class FieldReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    const format = this.raw(1)[0]
    if (format !== FORMAT) throw malformed(`format ${format}`)
  }

  u32(): number {
    return this.raw(4).readUInt32BE()
  }

  u48(): number {
    return this.raw(6).readUIntBE(0, 6)
  }

  position(): LogPosition {
    return { sequence: this.u48(), epoch: this.u32(), crc: this.u32() }
  }

  logId(): string {
    const logId = this.#text()
    if (!LOG_ID.test(logId)) throw malformed('no id of a log')
    return logId
  }

  fileName(): string {
    const name = this.#text()
    if (!FILE_NAME.test(name)) throw malformed('no name of a file')
    return name
  }

  raw(count: number): Buffer {
    const from = this.#at
    this.#at += count
    if (this.#at > this.#bytes.length) throw malformed('cut short')
    return this.#bytes.subarray(from, this.#at)
  }

  /** The value, if nothing follows it. */
  whole<Value>(value: Value): Value {
    if (this.#at !== this.#bytes.length) throw malformed('bytes behind its end')
    return value
  }

  #text(): string {
    const length = this.raw(1)[0] ?? 0
    return this.raw(length).toString('latin1')
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  assert(bytes.length <= 255, 'a text has 255 bytes at most')
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function u48(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(6)
  bytes.writeUIntBE(value, 0, 6)
  return bytes
}

function malformed(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `a message about a snapshot is malformed: ${what}`)
}
