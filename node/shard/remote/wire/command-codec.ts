// Commands and what is asked about transactions, as one node sends them to another. Documents go as their
// JSON text. Format: docs/reference/formats/shard-calls.md. The reader checks them like a client's request, because a
// shard trusts its commands.

import { unreachable } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { assertDocumentSize, assertKeySize } from '../../../document/document-limits.ts'
import { parseFieldPath } from '../../../document/field-path.ts'
import { JsonScanner, kindAt } from '../../../document/json-scanner.ts'
import { readTransforms } from '../../../document/transform-reader.ts'
import type { TransformRequest } from '../../../document/transform-request.ts'
import type { Expiry, TtlPolicy } from '../../../schema/document-rules.ts'
import type {
  KeyInterval,
  PrepareCommand,
  ShardAddress,
  TransactionPlan,
  VersionCheck,
  WriteCommand,
  WriteOp,
} from '../../command/command.ts'
import {
  decodeTransactionId,
  encodeTransactionId,
  TRANSACTION_ID_BYTES,
  type TransactionId,
} from '../../command/transaction-id.ts'
import { readArtifacts, writeArtifacts } from './artifact-writes-codec.ts'
import { malformed, type WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

const PUT = 1
const DELETE = 2
const TRANSFORM = 3
const PUT_WITH_ARTIFACTS = 4
const ARTIFACTS = 5
const EXPIRY_NONE = 0
const EXPIRY_AT = 1
const EXPIRY_AFTER_WRITE = 2
/** Written or read in about a millisecond. */
const ITEMS_PER_STEP = 2000

export function* writeWrite(out: WireWriter, command: WriteCommand): Sliced<void> {
  const meter = new StepMeter(ITEMS_PER_STEP)
  out.u32(command.checks.length)
  for (const { key, version } of command.checks) {
    out.key(key).timestamp(version)
    if (meter.spend(1)) yield
  }
  out.u32(command.ops.length)
  for (const op of command.ops) {
    writeOp(out, op)
    if (meter.spend(1)) yield
  }
  writeTtl(out, command.ttl)
}

export function* readWrite(from: WireReader): Sliced<WriteCommand> {
  const meter = new StepMeter(ITEMS_PER_STEP)
  const checks: VersionCheck[] = []
  for (let left = from.u32(); left > 0; left--) {
    checks.push({ key: readDocumentKey(from), version: from.timestamp() })
    if (meter.spend(1)) yield
  }
  const ops: WriteOp[] = []
  for (let left = from.u32(); left > 0; left--) {
    ops.push(yield* readOp(from))
    if (meter.spend(1)) yield
  }
  return { checks, ops, ttl: readTtl(from) }
}

export function* writePrepare(out: WireWriter, command: PrepareCommand): Sliced<void> {
  writeTransactionId(out, command.transactionId)
  writeAddress(out, command.anchor)
  writePlan(out, command.begin)
  yield* writeWrite(out, command)
}

export function* readPrepare(from: WireReader): Sliced<PrepareCommand> {
  const transactionId = readTransactionId(from)
  const anchor = readAddress(from)
  const begin = readPlan(from)
  return { transactionId, anchor, begin, ...(yield* readWrite(from)) }
}

export function writeTransactionId(out: WireWriter, id: TransactionId): WireWriter {
  return out.raw(encodeTransactionId(id))
}

export function readTransactionId(from: WireReader): TransactionId {
  return decodeTransactionId(from.raw(TRANSACTION_ID_BYTES))
}

export function writeAddress(out: WireWriter, { tableId, key }: ShardAddress): void {
  out.text(tableId).key(key)
}

export function readAddress(from: WireReader): ShardAddress {
  return { tableId: from.text(), key: readDocumentKey(from) }
}

/** A key that a document may have. */
export function readDocumentKey(from: WireReader): Buffer {
  const key = from.key()
  assertKeySize(key.length)
  return key
}

function writePlan(out: WireWriter, plan: TransactionPlan | undefined): void {
  if (plan === undefined) return void out.boolean(false)
  out.boolean(true).u32(plan.participants.length)
  for (const { tableId, first, last } of plan.participants) out.text(tableId).key(first).key(last)
}

function readPlan(from: WireReader): TransactionPlan | undefined {
  if (!from.boolean()) return undefined
  const participants: KeyInterval[] = []
  for (let left = from.u32(); left > 0; left--) {
    const interval = {
      tableId: from.text(),
      first: readDocumentKey(from),
      last: readDocumentKey(from),
    }
    if (interval.first.compare(interval.last) > 0) throw malformed('an interval without keys')
    participants.push(interval)
  }
  return { participants }
}

function writeOp(out: WireWriter, op: WriteOp): void {
  switch (op.kind) {
    case 'put':
      writeExpiry(
        out.u8(op.artifacts === undefined ? PUT : PUT_WITH_ARTIFACTS).key(op.key),
        op.expiry,
      )
      if (op.artifacts !== undefined) writeArtifacts(out, op.artifacts)
      return void out.bytes(op.json)
    case 'artifacts':
      return writeArtifacts(out.u8(ARTIFACTS).key(op.key), op.artifacts)
    case 'delete':
      return void out.u8(DELETE).key(op.key)
    case 'transform':
      return void out.u8(TRANSFORM).key(op.key).bytes(transformText(op.transform))
    default:
      return unreachable(op)
  }
}

function* readOp(from: WireReader): Sliced<WriteOp> {
  const kind = from.oneOf([PUT, DELETE, TRANSFORM, PUT_WITH_ARTIFACTS, ARTIFACTS])
  const key = readDocumentKey(from)
  if (kind === DELETE) return { kind: 'delete', key }
  if (kind === TRANSFORM) {
    const transform = yield* readTransform(from.bytes())
    if (!transform.key.equals(key)) throw malformed('a transform of another key')
    return { kind: 'transform', key, transform }
  }
  if (kind === ARTIFACTS) return { kind: 'artifacts', key, artifacts: readArtifacts(from) }
  const expiry = readExpiry(from)
  const artifacts = kind === PUT ? undefined : readArtifacts(from)
  const json = from.bytes()
  yield* checkDocument(json)
  return { kind: 'put', key, json, expiry, ...(artifacts === undefined ? {} : { artifacts }) }
}

/** The shard and its indexes take for granted that a document is the JSON text of an object. */
function* checkDocument(json: Buffer): Sliced<void> {
  assertDocumentSize(json.length)
  if (kindAt(json, 0) !== 'object') throw malformed('a document that is not an object')
  const scanner = new JsonScanner(json)
  yield* scanner.scanValueSliced()
  scanner.expectEnd()
}

/** As a client writes it, so that the reader checks it in the same way. */
function transformText({ key, operations, upsert }: TransformRequest): Buffer {
  const parts: Uint8Array[] = [
    Buffer.from(`[{"key":${JSON.stringify(key.toString())},"upsert":${upsert},`),
  ]
  parts.push(Buffer.from('"operations":['))
  for (const [index, { operator, path, value }] of operations.entries()) {
    const place = JSON.stringify(`$.${path.join('.')}`)
    const start = `${index === 0 ? '' : ','}{"op":"${operator}","path":${place},"value":`
    parts.push(Buffer.from(start), value, Buffer.from('}'))
  }
  parts.push(Buffer.from(']}]'))
  return Buffer.concat(parts)
}

function* readTransform(json: Buffer): Sliced<TransformRequest> {
  const scanner = new JsonScanner(json)
  const [transform, ...others] = yield* readTransforms(scanner, 'transform', () => undefined)
  scanner.expectEnd()
  if (transform === undefined || others.length > 0) throw malformed('not one transform')
  return transform
}

function writeExpiry(out: WireWriter, expiry: Expiry): void {
  switch (expiry.kind) {
    case 'none':
      return void out.u8(EXPIRY_NONE)
    case 'at':
      return void out.u8(EXPIRY_AT).number(expiry.ms)
    case 'after-write':
      return void out.u8(EXPIRY_AFTER_WRITE).number(expiry.durationMs)
    default:
      return unreachable(expiry)
  }
}

function readExpiry(from: WireReader): Expiry {
  const kind = from.oneOf([EXPIRY_NONE, EXPIRY_AT, EXPIRY_AFTER_WRITE])
  if (kind === EXPIRY_NONE) return { kind: 'none' }
  const ms = from.amount()
  return kind === EXPIRY_AT ? { kind: 'at', ms } : { kind: 'after-write', durationMs: ms }
}

function writeTtl(out: WireWriter, ttl: TtlPolicy | undefined): void {
  if (ttl === undefined) return void out.boolean(false)
  out.boolean(true).text(ttl.field.text).number(ttl.durationMs).number(ttl.generation)
}

function readTtl(from: WireReader): TtlPolicy | undefined {
  if (!from.boolean()) return undefined
  const field = parseFieldPath(from.text(), 'ttl')
  return { field, durationMs: from.amount(), generation: readInteger(from) }
}

function readInteger(from: WireReader): number {
  const found = from.amount()
  if (Number.isSafeInteger(found)) return found
  throw malformed(`${found} in place of an integer`)
}
