// Pages of a snapshot. Format: docs/reference/formats/replica-snapshot.md.
//
// Invariants:
//   PG1  The crcs of pages are chained, so a page that was changed, left out, repeated or moved does not
//        fit the one before it.

import { crc32 } from 'node:zlib'
import { assert, unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { PAGE_CONTENT_BYTES_MAX } from './snapshot-limits.ts'
import type { PageMark } from './snapshot-messages.ts'

const HEAD_BYTES = 9
const FILE_HEAD_BYTES = 4
const HASH_BYTES = 32
const END_BYTES = 6 + 2 * HASH_BYTES
const KINDS = { entries: 1, file: 2, end: 3 } as const

/** What a whole snapshot had. */
export interface SnapshotEnd {
  readonly entries: number
  readonly contentHash: Buffer
  readonly filesHash: Buffer
}

export type PageContent =
  | { readonly kind: 'entries'; readonly bytes: Buffer }
  | { readonly kind: 'file'; readonly file: number; readonly bytes: Buffer }
  | ({ readonly kind: 'end' } & SnapshotEnd)

/** A page as it is sent, and the mark after it. */
export interface EncodedPage {
  readonly bytes: Buffer
  readonly mark: PageMark
}

/** A page that arrived damaged or out of order. Nothing of it was taken, so it can be asked for again. */
export class DamagedPageError extends ServiceError {
  constructor(message: string) {
    super('CORRUPTION', message)
  }
}

export function encodePage(content: PageContent, before: PageMark): EncodedPage {
  const parts = partsOf(content)
  const number = before.number + 1
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  head.writeUInt32BE(number, 4)
  head[8] = KINDS[content.kind]
  const bytes = Buffer.concat([head, ...parts])
  const crc = crc32(bytes.subarray(4), before.crc)
  bytes.writeUInt32BE(crc, 0)
  return { bytes, mark: { number, crc } }
}

/** Throws DamagedPageError for a page that does not continue the one before it (PG1). */
export function decodePage(
  bytes: Buffer,
  before: PageMark,
): { readonly content: PageContent; readonly mark: PageMark } {
  if (bytes.length < HEAD_BYTES || bytes.length > HEAD_BYTES + PAGE_CONTENT_BYTES_MAX) {
    throw new DamagedPageError(`a page of a snapshot has ${bytes.length} bytes`)
  }
  const crc = bytes.readUInt32BE(0)
  const number = bytes.readUInt32BE(4)
  if (crc !== crc32(bytes.subarray(4), before.crc) || number !== before.number + 1) {
    const expected = before.number + 1
    throw new DamagedPageError(`page ${expected} of a snapshot is damaged, or is another page`)
  }
  return { content: contentOf(bytes[8], bytes.subarray(HEAD_BYTES)), mark: { number, crc } }
}

function partsOf(content: PageContent): readonly Buffer[] {
  switch (content.kind) {
    case 'entries':
      assert(content.bytes.length <= PAGE_CONTENT_BYTES_MAX, 'a page is bounded')
      return [content.bytes]
    case 'file': {
      const file = Buffer.allocUnsafe(FILE_HEAD_BYTES)
      file.writeUInt32BE(content.file)
      return [file, content.bytes]
    }
    case 'end': {
      const entries = Buffer.allocUnsafe(6)
      entries.writeUIntBE(content.entries, 0, 6)
      return [entries, content.contentHash, content.filesHash]
    }
    default:
      return unreachable(content)
  }
}

/** The most bytes of a file that fit a page. */
export const FILE_PART_BYTES_MAX = PAGE_CONTENT_BYTES_MAX - FILE_HEAD_BYTES

function contentOf(kind: number | undefined, bytes: Buffer): PageContent {
  switch (kind) {
    case KINDS.entries:
      return { kind: 'entries', bytes }
    case KINDS.file:
      if (bytes.length <= FILE_HEAD_BYTES) break
      return {
        kind: 'file',
        file: bytes.readUInt32BE(0),
        bytes: bytes.subarray(FILE_HEAD_BYTES),
      }
    case KINDS.end:
      if (bytes.length !== END_BYTES) break
      return {
        kind: 'end',
        entries: bytes.readUIntBE(0, 6),
        contentHash: bytes.subarray(6, 6 + HASH_BYTES),
        filesHash: bytes.subarray(6 + HASH_BYTES),
      }
    case undefined:
    default:
  }
  throw new ServiceError(
    'CORRUPTION',
    `a page of a snapshot has an unknown kind or length: ${kind}`,
  )
}
