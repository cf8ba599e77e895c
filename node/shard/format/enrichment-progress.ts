// How far a shard's leader has made the artifacts of an index, for the leader after it. Described in
// docs/reference/formats/shard.md.

import type { KvStore } from '../../storage/kv-store.ts'
import type { EnrichmentProgress, WalkedSpan } from '../command/enrich-command.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import { progressKey } from './keyspace.ts'

const FORMAT = 1
const NO_KEY = Buffer.alloc(0)

export function encodeProgress({ sequence, spans }: EnrichmentProgress): Buffer {
  const writer = new ByteWriter().u8(FORMAT).u48(sequence).u8(spans.length)
  for (const { after, last } of spans) writer.shortBytes(after ?? NO_KEY).shortBytes(last ?? NO_KEY)
  return writer.done()
}

export function decodeProgress(bytes: Buffer): EnrichmentProgress {
  const reader = new ByteReader(bytes, 'enrichment progress').format(FORMAT)
  const sequence = reader.u48()
  const spans: WalkedSpan[] = []
  for (let left = reader.u8(); left > 0; left--) {
    spans.push({ after: readKey(reader), last: readKey(reader) })
  }
  return { sequence, spans }
}

/** The progress of an index that its shard has stored; undefined: nothing has been made. */
export function storedProgress(
  store: Pick<KvStore, 'get'>,
  index: string,
): EnrichmentProgress | undefined {
  const stored = store.get(progressKey(index))
  return stored && decodeProgress(stored)
}

/** No document has an empty key. */
function readKey(reader: ByteReader): Buffer | undefined {
  const key = reader.shortBytes()
  return key.length === 0 ? undefined : Buffer.from(key)
}
