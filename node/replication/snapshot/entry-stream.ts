// The stream of entries: a store as one run of bytes. Format: docs/reference/formats/replica-snapshot.md.

import { ServiceError } from '../../../lib/errors.ts'
import type { KvEntry } from '../../storage/kv-store.ts'
import { ENTRY_VALUE_BYTES_MAX } from './snapshot-limits.ts'

const HEAD_BYTES = 6

export function encodedBytes([key, value]: KvEntry): number {
  return HEAD_BYTES + key.length + value.length
}

/** Writes an entry at `at`, where there must be room, and returns its end. */
export function writeEntry(into: Buffer, at: number, [key, value]: KvEntry): number {
  into.writeUInt16BE(key.length, at)
  into.writeUInt32BE(value.length, at + 2)
  into.set(key, at + HEAD_BYTES)
  into.set(value, at + HEAD_BYTES + key.length)
  return at + HEAD_BYTES + key.length + value.length
}

export function encodeEntry(entry: KvEntry): Buffer {
  const bytes = Buffer.allocUnsafe(encodedBytes(entry))
  writeEntry(bytes, 0, entry)
  return bytes
}

/**
 * Reads entries out of parts of the stream. It keeps the part of an entry that is not whole yet. Throws
 * CORRUPTION if keys do not increase.
 */
export class EntryParser {
  /** The bytes of the entry that is not whole yet. */
  #begun: Buffer[] = []
  #begunBytes = 0
  /** With fewer bytes than this there is nothing to read. */
  #neededBytes = HEAD_BYTES
  #lastKey: Buffer | undefined
  #count = 0

  /** The number of whole entries so far. */
  get count(): number {
    return this.#count
  }

  /** Whether the stream may end here. */
  get isBetweenEntries(): boolean {
    return this.#begunBytes === 0
  }

  /** The entries that end in this part. Their bytes are views into it, or copies. */
  take(part: Buffer): readonly KvEntry[] {
    this.#begun.push(part)
    this.#begunBytes += part.length
    if (this.#begunBytes < this.#neededBytes) return []
    const bytes = this.#begun.length === 1 ? part : Buffer.concat(this.#begun)
    const entries: KvEntry[] = []
    let at = 0
    let end = endOfEntry(bytes, at)
    while (end !== undefined && end <= bytes.length) {
      entries.push(this.#entryAt(bytes, at, end))
      at = end
      end = endOfEntry(bytes, at)
    }
    const rest = bytes.subarray(at)
    this.#begun = rest.length === 0 ? [] : [rest]
    this.#begunBytes = rest.length
    this.#neededBytes = end === undefined ? HEAD_BYTES : end - at
    return entries
  }

  #entryAt(bytes: Buffer, at: number, end: number): KvEntry {
    const keyEnd = at + HEAD_BYTES + bytes.readUInt16BE(at)
    const key = bytes.subarray(at + HEAD_BYTES, keyEnd)
    if (this.#lastKey !== undefined && Buffer.compare(this.#lastKey, key) >= 0) {
      throw new ServiceError('CORRUPTION', 'the keys of a snapshot do not increase')
    }
    this.#lastKey = key
    this.#count += 1
    return [key, bytes.subarray(keyEnd, end)]
  }
}

/** Undefined if the lengths of the entry are not whole. */
function endOfEntry(bytes: Buffer, at: number): number | undefined {
  if (at + HEAD_BYTES > bytes.length) return undefined
  const valueBytes = bytes.readUInt32BE(at + 2)
  if (valueBytes > ENTRY_VALUE_BYTES_MAX) {
    throw new ServiceError('CORRUPTION', `a snapshot has an entry of ${valueBytes} bytes`)
  }
  return at + HEAD_BYTES + bytes.readUInt16BE(at) + valueBytes
}
