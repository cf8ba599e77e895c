// The disk of deleted entries. LevelDB gives it back when it compacts the files that have them, which it does as
// writes come: without later writes, deleted entries would stay on the disk.

import type { KvOp } from './kv-store.ts'

const MIB = 1024 * 1024
/** A piece holds one thread of the process's pool for about a second on a slow disk. */
export const PIECE_BYTES_MAX = 32 * MIB
/** Fewer deleted bytes than 4 MiB are left to LevelDB. */
export const DELETED_BYTES_MIN = 4 * MIB
/** A compaction writes at most four times what it gives back, about. */
const DELETED_RATIO = 4
/** The size of a deleted entry if its keyspace was not written since the store was opened. */
const ENTRY_BYTES_DEFAULT = 256
/** Eight bytes behind their common beginning tell two bounds apart. */
const BISECTED_BYTES = 8
const BYTE_VALUES = 256

/** What is written and deleted in one keyspace, which is the first byte of its keys. */
interface KeyspaceCounts {
  puts: number
  putBytes: number
  deleted: number
}

/** Estimates the bytes of deleted entries: each counts as much as those that were put into its keyspace, on average. */
export class DeletedBytes {
  readonly #byKeyspace = new Map<number, KeyspaceCounts>()

  note({ key, ...op }: KvOp): void {
    const [keyspace = 0] = key
    const known = this.#byKeyspace.get(keyspace)
    const counts = known ?? { puts: 0, putBytes: 0, deleted: 0 }
    if (known === undefined) this.#byKeyspace.set(keyspace, counts)
    if (op.type === 'del') {
      counts.deleted += 1
      return
    }
    counts.puts += 1
    counts.putBytes += key.length + op.value.length
  }

  get estimate(): number {
    let bytes = 0
    for (const { puts, putBytes, deleted } of this.#byKeyspace.values()) {
      bytes += deleted * (puts === 0 ? ENTRY_BYTES_DEFAULT : putBytes / puts)
    }
    return bytes
  }

  /** Everything deleted so far is being given back. */
  restart(): void {
    for (const counts of this.#byKeyspace.values()) counts.deleted = 0
  }
}

/** Whether the deleted bytes are worth a compaction: DELETED_BYTES_MIN, and a quarter of the store. */
export function isWorthCompacting(deletedBytes: number, storeBytes: number): boolean {
  return deletedBytes >= DELETED_BYTES_MIN && deletedBytes * DELETED_RATIO >= storeBytes
}

/** A range of keys with both bounds. */
export interface CompactedRange {
  readonly start: Buffer
  readonly end: Buffer
}

/** Divides a range into pieces of at most PIECE_BYTES_MAX, as far as keys differ. Empty ones are left out. */
export async function* piecesOf(
  whole: CompactedRange,
  bytesOf: (range: CompactedRange) => Promise<number>,
): AsyncGenerator<CompactedRange, undefined> {
  const left = [whole]
  for (let range = left.pop(); range !== undefined; range = left.pop()) {
    const bytes = await bytesOf(range)
    if (bytes === 0) continue
    const middle = bytes > PIECE_BYTES_MAX ? middleOf(range) : undefined
    if (middle === undefined) yield range
    else left.push({ start: middle, end: range.end }, { start: range.start, end: middle })
  }
  return undefined
}

/** Undefined if the bounds are too near to each other. */
function middleOf({ start, end }: CompactedRange): Buffer | undefined {
  let common = 0
  while (common < start.length && start[common] === end[common]) common += 1
  const length = common + BISECTED_BYTES
  const sum = numberOf(start, length) + numberOf(end, length)
  const middle = Buffer.from((sum / 2n).toString(16).padStart(2 * length, '0'), 'hex')
  return Buffer.compare(middle, start) > 0 && Buffer.compare(middle, end) < 0 ? middle : undefined
}

/** The first bytes of a key as a number; missing ones are 0. */
function numberOf(key: Buffer, length: number): bigint {
  let value = 0n
  for (let at = 0; at < length; at += 1) value = value * BigInt(BYTE_VALUES) + BigInt(key[at] ?? 0)
  return value
}
