// How document writes change a shard's store: the newest version under its key, the one before in
// history, the expiry in its index.
//
// Invariants:
//   D1  The versions of a key strictly increase.
//   D2  A record with an expiry has exactly one entry in the expiry keyspace.
//   D3  A version leaves the documents keyspace only into history.

import { assert } from '../../../lib/assert.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { TIMESTAMP_ZERO } from '../../clock/hybrid-clock.ts'
import { assertDocumentLimits, at, shownKey } from '../../document/document-limits.ts'
import { parseExact, stringifyExact, type JsonObject } from '../../document/exact-json.ts'
import { isJsonObject } from '../../document/json-object.ts'
import { applyTransform } from '../../document/transform.ts'
import type { TtlPolicy } from '../../schema/document-rules.ts'
import type { ApplyContext } from './apply-context.ts'
import type { VersionCheck, WriteOp } from './command.ts'
import {
  encodeTombstone,
  expiresAtMsOf,
  isDeleted,
  jsonOf,
  versionOf,
  type DocumentRecord,
} from '../format/document-record.ts'
import type { IntentOp } from '../format/intent-codec.ts'
import { intentOutcome } from './intent-outcome.ts'
import { expiryKey, historyKey } from '../format/keyspace.ts'
import { isVisible } from '../visibility.ts'

/** What is to become of one key; several operations on a key in one command fold into one. */
export interface PlannedWrite {
  readonly key: Buffer
  readonly op: IntentOp
}

/**
 * Folds the operations in their order and computes transforms, without changing anything yet.
 * Throws INVALID_ARGUMENT when a transform does not fit its document.
 */
export function planWrites(
  context: ApplyContext,
  ops: readonly WriteOp[],
  ttl: TtlPolicy | undefined,
): readonly PlannedWrite[] {
  const plan = new Map<string, PlannedWrite>()
  const ttlGeneration = ttl?.generation ?? 0
  for (const op of ops) {
    const { key } = op
    const name = key.toString('latin1')
    switch (op.kind) {
      case 'put':
        plan.set(name, {
          key,
          op: { kind: 'put', json: op.json, expiry: op.expiry, ttlGeneration },
        })
        break
      case 'delete':
        plan.set(name, { key, op: { kind: 'delete' } })
        break
      case 'transform':
        plan.set(name, { key, op: planTransform(context, op, plan.get(name)?.op, ttl) })
        break
    }
  }
  return [...plan.values()]
}

function planTransform(
  context: ApplyContext,
  { key, transform }: Extract<WriteOp, { kind: 'transform' }>,
  planned: IntentOp | undefined,
  ttl: TtlPolicy | undefined,
): IntentOp {
  const json = planned === undefined ? currentJson(context, key, ttl) : plannedJson(planned)
  const before = json === undefined ? undefined : parseStored(json)
  const after = applyTransform(before, transform, context.nowMs)
  // Skipped (no document, no upsert): the key stays as it is, but nobody may change it meanwhile.
  if (after === undefined) return planned ?? { kind: 'lock' }
  const text = Buffer.from(stringifyExact(after))
  at(`transform of ${shownKey(key.toString())}`, () => assertDocumentLimits(text))
  return { kind: 'put', ...context.rules.check(key, text), ttlGeneration: ttl?.generation ?? 0 }
}

function parseStored(json: Buffer): JsonObject {
  const document = parseExact(json)
  assert(isJsonObject(document), 'a stored document is a JSON object')
  return document
}

function plannedJson(op: IntentOp): Buffer | undefined {
  return op.kind === 'put' ? op.json : undefined
}

function currentJson(
  { view, nowMs }: ApplyContext,
  key: Buffer,
  ttl: TtlPolicy | undefined,
): Buffer | undefined {
  const record = view.record(key)
  return record !== undefined && isVisible(record, ttl, nowMs) ? jsonOf(record) : undefined
}

/** The version that a check finds: 0 for a document that is absent, deleted or expired. */
export function visibleVersion(
  { view, nowMs }: ApplyContext,
  key: Buffer,
  ttl: TtlPolicy | undefined,
): Timestamp {
  const record = view.record(key)
  return record !== undefined && isVisible(record, ttl, nowMs) ? versionOf(record) : TIMESTAMP_ZERO
}

export function failedCheck(
  context: ApplyContext,
  checks: readonly VersionCheck[],
  ttl: TtlPolicy | undefined,
):
  | { readonly kind: 'version-changed'; readonly key: Buffer; readonly found: Timestamp }
  | undefined {
  for (const { key, version } of checks) {
    const found = visibleVersion(context, key, ttl)
    if (found !== version) return { kind: 'version-changed', key, found }
  }
  return undefined
}

/** Puts the outcome of a planned write in place at `version`. Repeating it changes nothing. */
export function applyPlanned(
  context: ApplyContext,
  { key, op }: PlannedWrite,
  version: Timestamp,
): void {
  if (op.kind === 'lock') return
  const previous = context.view.record(key)
  if (previous !== undefined && versionOf(previous) === version) return
  const record = intentOutcome(op, version)
  if (record === undefined) return removeDocument(context, key, version)
  replace(context, { key, previous, record, version })
}

/** Leaves a tombstone; a key without a document stays without one. */
export function removeDocument(context: ApplyContext, key: Buffer, version: Timestamp): void {
  const previous = context.view.record(key)
  if (previous === undefined || isDeleted(previous)) return
  replace(context, { key, previous, record: encodeTombstone(version), version })
}

interface Replacement {
  readonly key: Buffer
  readonly previous: DocumentRecord | undefined
  readonly record: DocumentRecord
  readonly version: Timestamp
}

function replace(context: ApplyContext, { key, previous, record, version }: Replacement): void {
  const { view, touches } = context
  if (previous !== undefined) {
    assert(versionOf(previous) < version, 'D1: the versions of a key increase')
    view.put(historyKey(key, versionOf(previous)), previous)
    const expired = expiresAtMsOf(previous)
    if (expired !== 0) view.del(expiryKey(expired, key))
  }
  view.putRecord(key, record)
  const expires = expiresAtMsOf(record)
  if (expires !== 0) view.put(expiryKey(expires, key), EMPTY)
  touches.push({
    key,
    deleted: isDeleted(record),
    previous: previous === undefined ? undefined : versionOf(previous),
  })
}

const EMPTY = Buffer.alloc(0)
