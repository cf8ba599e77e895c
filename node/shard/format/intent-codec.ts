// The intent that a prepared transaction leaves on a key until its resolution. Format: docs/formats/shard.md.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { Expiry } from '../../schema/document-rules.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import type { ShardAddress } from '../command/command.ts'
import {
  decodeTransactionId,
  encodeTransactionId,
  TRANSACTION_ID_BYTES,
  type TransactionId,
} from '../command/transaction-id.ts'

const FORMAT = 1
const OP_PUT = 1
const OP_DELETE = 2
const OP_LOCK = 3
const EXPIRY_NONE = 0
const EXPIRY_AT = 1
const EXPIRY_AFTER_WRITE = 2

/** The change of the key by a commit. `lock` changes nothing; it keeps other writers away. */
export type IntentOp =
  | {
      readonly kind: 'put'
      readonly json: Buffer
      readonly expiry: Expiry
      readonly ttlGeneration: number
    }
  | { readonly kind: 'delete' }
  | { readonly kind: 'lock' }

/** A prepared transaction's hold on one key, with the way to its record. */
export interface Intent {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly commitAtLeast: Timestamp
  readonly op: IntentOp
}

export function encodeIntent({ transactionId, anchor, commitAtLeast, op }: Intent): Buffer {
  const writer = new ByteWriter()
    .u8(FORMAT)
    .raw(encodeTransactionId(transactionId))
    .timestamp(commitAtLeast)
    .shortBytes(Buffer.from(anchor.tableId))
    .shortBytes(anchor.key)
  if (op.kind === 'delete') return writer.u8(OP_DELETE).done()
  if (op.kind === 'lock') return writer.u8(OP_LOCK).done()
  writer.u8(OP_PUT).u16(op.ttlGeneration & 0xffff)
  return writeExpiry(writer, op.expiry).raw(op.json).done()
}

export function decodeIntent(bytes: Buffer): Intent {
  const reader = new ByteReader(bytes, 'intent').format(FORMAT)
  const transactionId = decodeTransactionId(reader.raw(TRANSACTION_ID_BYTES))
  const commitAtLeast = reader.timestamp()
  const anchor = { tableId: reader.shortBytes().toString(), key: reader.shortBytes() }
  return { transactionId, commitAtLeast, anchor, op: readOp(reader) }
}

function readOp(reader: ByteReader): IntentOp {
  const kind = reader.u8()
  if (kind === OP_DELETE) return { kind: 'delete' }
  if (kind === OP_LOCK) return { kind: 'lock' }
  if (kind !== OP_PUT) throw new ServiceError('CORRUPTION', `intent: unknown operation ${kind}`)
  const ttlGeneration = reader.u16()
  const expiry = readExpiry(reader)
  return { kind: 'put', ttlGeneration, expiry, json: reader.rest() }
}

function writeExpiry(writer: ByteWriter, expiry: Expiry): ByteWriter {
  switch (expiry.kind) {
    case 'none':
      return writer.u8(EXPIRY_NONE)
    case 'at':
      return writeMillis(writer.u8(EXPIRY_AT), expiry.ms)
    case 'after-write':
      return writeMillis(writer.u8(EXPIRY_AFTER_WRITE), expiry.durationMs)
    default:
      return unreachable(expiry)
  }
}

function readExpiry(reader: ByteReader): Expiry {
  const kind = reader.u8()
  if (kind === EXPIRY_NONE) return { kind: 'none' }
  if (kind === EXPIRY_AT) return { kind: 'at', ms: readMillis(reader) }
  if (kind === EXPIRY_AFTER_WRITE) return { kind: 'after-write', durationMs: readMillis(reader) }
  throw new ServiceError('CORRUPTION', `intent: unknown expiry ${kind}`)
}

// Milliseconds exceed 32 bits and stay below 2^53, so they go as two words.
function writeMillis(writer: ByteWriter, ms: number): ByteWriter {
  return writer.u32(Math.floor(ms / 0x1_0000_0000)).u32(ms % 0x1_0000_0000)
}

function readMillis(reader: ByteReader): number {
  return reader.u32() * 0x1_0000_0000 + reader.u32()
}
