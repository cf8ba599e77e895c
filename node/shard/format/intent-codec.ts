// The intent that a prepared transaction leaves on a key until its resolution. Format: docs/reference/formats/shard.md.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { ArtifactWrite } from '../../embedding/written-embeddings.ts'
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
const OP_PUT_WITH_ARTIFACTS = 4
const OP_ARTIFACTS = 5
const INDEX_ID_BYTES = 8
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
      /** Absent: the document keeps its artifacts. */
      readonly artifacts?: readonly ArtifactWrite[] | undefined
    }
  /** The document stays as it is. */
  | { readonly kind: 'artifacts'; readonly artifacts: readonly ArtifactWrite[] }
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
  if (op.kind === 'artifacts') {
    return writeArtifacts(writer.u8(OP_ARTIFACTS), op.artifacts).done()
  }
  const { artifacts } = op
  writer.u8(artifacts === undefined ? OP_PUT : OP_PUT_WITH_ARTIFACTS)
  writeExpiry(writer.u16(op.ttlGeneration & 0xffff), op.expiry)
  if (artifacts !== undefined) writeArtifacts(writer, artifacts)
  return writer.raw(op.json).done()
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
  if (kind === OP_ARTIFACTS) return { kind: 'artifacts', artifacts: readArtifacts(reader) }
  if (kind !== OP_PUT && kind !== OP_PUT_WITH_ARTIFACTS) {
    throw new ServiceError('CORRUPTION', `intent: unknown operation ${kind}`)
  }
  const ttlGeneration = reader.u16()
  const expiry = readExpiry(reader)
  const artifacts = kind === OP_PUT ? undefined : readArtifacts(reader)
  const put = { kind: 'put', ttlGeneration, expiry, json: reader.rest() } as const
  return artifacts === undefined ? put : { ...put, artifacts }
}

function writeArtifacts(writer: ByteWriter, artifacts: readonly ArtifactWrite[]): ByteWriter {
  writer.u16(artifacts.length)
  for (const { index, artifact } of artifacts) {
    writer.raw(Buffer.from(index, 'hex')).u32(artifact?.length ?? 0)
    if (artifact !== undefined) writer.raw(artifact)
  }
  return writer
}

function readArtifacts(reader: ByteReader): readonly ArtifactWrite[] {
  const artifacts: ArtifactWrite[] = []
  for (let left = reader.u16(); left > 0; left--) {
    const index = reader.raw(INDEX_ID_BYTES).toString('hex')
    const bytes = reader.u32()
    artifacts.push({ index, artifact: bytes === 0 ? undefined : reader.raw(bytes) })
  }
  return artifacts
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
