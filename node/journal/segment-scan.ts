// Walks the batches of a segment's bytes. Distinguishes an interrupted write from damage. Pure.

import { ServiceError } from '../../lib/errors.ts'
import {
  alignedLength,
  BATCH_ALIGNMENT,
  BATCH_HEADER_BYTES,
  crcOfEntry,
  decodeBatchHeader,
  decodeRow,
  isHeaderValid,
  isHeadValid,
  newerJournalError,
  ROW_BYTES,
  rowKindOf,
  SEGMENT_HEADER_BYTES,
  type BatchHeader,
  type EntryRow,
} from './journal-format.ts'
import { markOfRow, type LogMark } from './log-mark.ts'

/** The position in the chain of batches: what the next batch must contain. */
export interface ChainPosition {
  readonly nextBatch: number
  readonly previousCrc: number
}

/** One whole and checked batch. */
export interface ScannedBatch {
  readonly offset: number
  readonly header: BatchHeader
  /** The header and the table. */
  readonly head: Buffer
}

/**
 * Reads and checks the batch at `offset`. Answers undefined if no whole batch is there. The caller
 * checks its position in the chain.
 */
export function batchAt(bytes: Buffer, offset: number, salt: number): ScannedBatch | undefined {
  if (offset + BATCH_HEADER_BYTES > bytes.length) return undefined
  if (!isHeaderValid(bytes, offset, salt)) return undefined
  const header = decodeBatchHeader(bytes, offset)
  const headBytes = BATCH_HEADER_BYTES + header.count * ROW_BYTES
  if (header.length < headBytes || offset + header.length > bytes.length) return undefined
  const head = bytes.subarray(offset, offset + headBytes)
  if (!isHeadValid(head, salt)) return undefined
  const batch = { offset, header, head }
  return areBodiesValid(bytes, batch) ? batch : undefined
}

function areBodiesValid(bytes: Buffer, { offset, header, head }: ScannedBatch): boolean {
  let at = offset + head.length
  for (const [row, { length, crc }] of rawRows(head)) {
    if (at + length > offset + header.length) return false
    if (crcOfEntry(row, [bytes.subarray(at, at + length)]) !== crc) return false
    at += length
  }
  return at === offset + header.length
}

/** One entry of a batch: its row and its body. */
export interface ScannedEntry {
  readonly row: EntryRow
  /** The place of the row in the table, from 0 on. */
  readonly at: number
  readonly body: Buffer
}

/** The entries of a batch that `batchAt` found in the same bytes. Passes over marks. */
export function* entriesOf(
  bytes: Buffer,
  { offset, head }: ScannedBatch,
): IterableIterator<ScannedEntry> {
  let bodyAt = offset + head.length
  let at = 0
  for (const [raw, row] of rawRows(head)) {
    if (rowKindOf(raw) === 0) yield { row, at, body: bytes.subarray(bodyAt, bodyAt + row.length) }
    bodyAt += row.length
    at += 1
  }
}

/** A row of the table: that of an entry, or a mark. */
export type ScannedRow =
  { readonly entry: EntryRow; readonly mark?: undefined } | { readonly mark: LogMark }

/**
 * The rows of the table. Does not read the bodies. Throws INVALID_ARGUMENT at a row that a later
 * version of the program wrote; `fileName` names the segment.
 */
export function* rowsOf({ head }: ScannedBatch, fileName: string): IterableIterator<ScannedRow> {
  for (const [raw, row] of rawRows(head)) {
    const kind = rowKindOf(raw)
    if (kind === 0) {
      yield { entry: row }
      continue
    }
    const mark = markOfRow(kind, row)
    if (mark === undefined) throw newerJournalError(fileName)
    yield { mark }
  }
}

function* rawRows(head: Buffer): IterableIterator<readonly [Buffer, EntryRow]> {
  for (let at = BATCH_HEADER_BYTES; at < head.length; at += ROW_BYTES) {
    const row = head.subarray(at, at + ROW_BYTES)
    yield [row, decodeRow(row)]
  }
}

/** A segment's bytes, and the position in the chain where they must continue. */
export interface SegmentChain {
  readonly bytes: Buffer
  readonly salt: number
  readonly from: ChainPosition
}

/**
 * Calls `visit` for each batch of the chain, in order. Answers the position at the end of the
 * chain.
 */
export function scanSegment(
  { bytes, salt, from }: SegmentChain,
  visit: (batch: ScannedBatch) => void,
): { readonly end: number; readonly position: ChainPosition } {
  let { nextBatch, previousCrc } = from
  let offset = SEGMENT_HEADER_BYTES
  for (;;) {
    const batch = batchAt(bytes, offset, salt)
    const follows = batch?.header.number === nextBatch && batch.header.previousCrc === previousCrc
    if (batch === undefined || !follows) {
      return { end: offset, position: { nextBatch, previousCrc } }
    }
    visit(batch)
    nextBatch += 1
    previousCrc = batch.header.crc
    offset += alignedLength(batch.header.length)
  }
}

/**
 * The offset of a batch header above `number` in the bytes from `from` on; undefined if there is
 * none. Such a header proves that everything before it was once synced.
 */
export function findLaterBatch(
  { bytes, salt }: Pick<SegmentChain, 'bytes' | 'salt'>,
  { from, number }: { readonly from: number; readonly number: number },
): number | undefined {
  const last = bytes.length - BATCH_HEADER_BYTES
  for (let at = alignedLength(from); at <= last; at += BATCH_ALIGNMENT) {
    if (bytes.readUInt32BE(at + 4) < BATCH_HEADER_BYTES) continue
    if (decodeBatchHeader(bytes, at).number <= number) continue
    if (isHeaderValid(bytes, at, salt)) return at
  }
  return undefined
}

/** CORRUPTION with the file and the offset of the damage. */
export function damagedError(file: string, offset: number, what: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `${file} of the journal is damaged at offset ${offset}: ${what}; ` +
      'restore the data directory from a backup or a replica',
  )
}
