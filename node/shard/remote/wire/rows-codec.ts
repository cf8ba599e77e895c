// Rows of a scan in messages. Format: docs/reference/formats/shard-calls.md.

import type { ScanRow } from '../../shard.ts'
import { PART_BYTES } from './call-limits.ts'
import { beginPart } from './call-head.ts'
import type { WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

/** The bytes of a row beside its key and record. */
const ROW_BYTES = 6

/** The page in messages: rows are not divided, so a long one has a message of its own. */
export function* encodeRows(page: readonly ScanRow[]): Generator<Buffer> {
  let rows: ScanRow[] = []
  let bytes = 0
  for (const row of page) {
    const rowBytes = ROW_BYTES + row.key.length + row.record.length
    if (rows.length > 0 && bytes + rowBytes > PART_BYTES) {
      yield encodePart(rows, bytes)
      rows = []
      bytes = 0
    }
    rows.push(row)
    bytes += rowBytes
  }
  if (rows.length > 0) yield encodePart(rows, bytes)
}

function encodePart(rows: readonly ScanRow[], bytes: number): Buffer {
  const out = beginPart(new WireWriter(bytes + 8)).u32(rows.length)
  for (const { key, record } of rows) out.key(key).bytes(record)
  return out.joined()
}

export function readRows(from: WireReader): ScanRow[] {
  const rows: ScanRow[] = []
  for (let left = from.u32(); left > 0; left--) rows.push({ key: from.key(), record: from.bytes() })
  from.end()
  return rows
}
