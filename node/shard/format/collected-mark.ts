// The value under COLLECTED_KEY. Described in docs/reference/formats/shard.md.

import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'

const FORMAT = 1

export function encodeCollected(upTo: Timestamp): Buffer {
  return new ByteWriter().u8(FORMAT).timestamp(upTo).done()
}

export function decodeCollected(bytes: Buffer): Timestamp {
  return new ByteReader(bytes, 'collected mark').format(FORMAT).timestamp()
}
