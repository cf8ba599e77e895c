// How document writes change a shard's store: the newest version under its key, the one before in
// history, the expiry in its index.
//
// Invariants:
//   D1  The versions of a key strictly increase.
//   D2  A record with an expiry has exactly one entry in the expiry keyspace.
//   D3  A version leaves the documents keyspace only into history.
//   D4  A document keeps its ordinal until it is deleted or expires; no ordinal is given twice.

import { assert } from '../../../lib/assert.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { TIMESTAMP_ZERO } from '../../clock/hybrid-clock.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { checkDocumentLimits, located, shownKey } from '../../document/document-limits.ts'
import { applyTransformsSliced } from '../../document/transform.ts'
import type { TransformRequest } from '../../document/transform-request.ts'
import type { TtlPolicy } from '../../schema/document-rules.ts'
import type { ApplyContext } from './apply-context.ts'
import { artifactsIn, changeBy, noDocument } from './plain-change.ts'
import { dropArtifacts, dropMarks, putArtifacts, putArtifactsAlone } from './put-artifacts.ts'
import type { VersionCheck, WriteOp } from '../command/command.ts'
import {
  encodeTombstone,
  isDeleted,
  jsonOf,
  ordinalOf,
  versionOf,
  type DocumentRecord,
} from '../format/document-record.ts'
import type { IntentOp } from '../format/intent-codec.ts'
import { intentOutcome } from './intent-outcome.ts'
import { intentKey } from '../format/keyspace.ts'
import type { TransactionId } from '../command/transaction-id.ts'
import { isVisible } from '../format/visibility.ts'

/** Bytes read from the store in about a millisecond, and what a read costs beside its bytes. */
export const READ_BYTES_PER_STEP = 512 * 1024
export const READ_COST = 4096
/** About a millisecond of folding. */
const OPS_PER_STEP = 1000

/** The change of one key. Several operations of a command on one key fold into one change. */
export interface PlannedWrite {
  readonly key: Buffer
  readonly op: IntentOp
}

/** The operations on one key: first `op` (undefined: the stored document), then the transforms. */
interface KeyPlan {
  readonly key: Buffer
  readonly op: IntentOp | undefined
  readonly transforms: TransformRequest[]
}

/**
 * Folds the operations in their order and computes transforms, without changing anything yet. All
 * transforms of one key read its document once, and their result alone is checked.
 * Throws INVALID_ARGUMENT when a transform does not fit its document.
 */
export function* planWrites(
  context: ApplyContext,
  ops: readonly WriteOp[],
  ttl: TtlPolicy | undefined,
): Sliced<readonly PlannedWrite[]> {
  const meter = new StepMeter(OPS_PER_STEP)
  const writes: PlannedWrite[] = []
  for (const plan of (yield* plansByKey(ops, ttl)).values()) {
    writes.push({ key: plan.key, op: yield* outcomeOf(context, plan, ttl) })
    if (meter.spend(1)) yield
  }
  return writes
}

function* plansByKey(
  ops: readonly WriteOp[],
  ttl: TtlPolicy | undefined,
): Sliced<ReadonlyMap<string, KeyPlan>> {
  const plans = new Map<string, KeyPlan>()
  const meter = new StepMeter(OPS_PER_STEP)
  const ttlGeneration = ttl?.generation ?? 0
  for (const op of ops) {
    const { key } = op
    const name = key.toString('latin1')
    if (op.kind === 'transform') {
      const plan = plans.get(name) ?? { key, op: undefined, transforms: [] }
      plan.transforms.push(op.transform)
      plans.set(name, plan)
    } else {
      if (op.kind === 'artifacts' && plans.has(name)) throw noDocument(key)
      plans.set(name, { key, op: changeBy(op, ttlGeneration), transforms: [] })
    }
    if (meter.spend(1)) yield
  }
  return plans
}

function* outcomeOf(
  context: ApplyContext,
  plan: KeyPlan,
  ttl: TtlPolicy | undefined,
): Sliced<IntentOp> {
  const { key, op, transforms } = plan
  // Only transforms and artifacts need to know the stored document.
  const before =
    op === undefined || op.kind === 'artifacts' ? currentJson(context, key, ttl) : plannedJson(op)
  if (op?.kind === 'artifacts' && before === undefined) throw noDocument(key)
  const after =
    transforms.length === 0
      ? undefined
      : yield* applyTransformsSliced(before, transforms, context.nowMs)
  // Skipped (no document, no upsert): the key stays as it is, but nobody may change it meanwhile.
  if (after === undefined) return op ?? { kind: 'lock' }
  yield* checkLimits(key, after)
  const checked = yield* context.rules.checkSliced(key, after)
  const ttlGeneration = ttl?.generation ?? 0
  return { kind: 'put', ...checked, ttlGeneration, artifacts: artifactsIn(op) }
}

function* checkLimits(key: Buffer, json: Buffer): Sliced<void> {
  try {
    yield* checkDocumentLimits(json)
  } catch (error) {
    throw located(`transform of ${shownKey(key.toString())}`, error)
  }
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
function visibleVersion(
  record: DocumentRecord | undefined,
  { nowMs }: ApplyContext,
  ttl: TtlPolicy | undefined,
): Timestamp {
  return record !== undefined && isVisible(record, ttl, nowMs) ? versionOf(record) : TIMESTAMP_ZERO
}

export function* failedCheck(
  context: ApplyContext,
  checks: readonly VersionCheck[],
  ttl: TtlPolicy | undefined,
): Sliced<
  { readonly kind: 'version-changed'; readonly key: Buffer; readonly found: Timestamp } | undefined
> {
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  for (const { key, version } of checks) {
    const record = context.view.record(key)
    const found = visibleVersion(record, context, ttl)
    if (found !== version) return { kind: 'version-changed', key, found }
    if (meter.spend(READ_COST + (record?.length ?? 0))) yield
  }
  return undefined
}

/**
 * Puts the outcome of a planned write in place at `version`; `intentOf` is the transaction that
 * planned it, whose intent goes. Repeating it changes nothing.
 */
export function applyPlanned(
  context: ApplyContext,
  { key, op, intentOf }: PlannedWrite & { readonly intentOf?: TransactionId },
  version: Timestamp,
): void {
  const { view, ttl } = context
  const previous = view.record(key)
  const isDone = previous !== undefined && versionOf(previous) === version
  const ordinal = isDone || op.kind !== 'put' ? undefined : ordinalAfter(context, previous)
  const record =
    isDone || op.kind === 'lock' ? undefined : recordAfter({ op, ttl, ordinal }, previous, version)
  if (record === undefined) {
    if (op.kind === 'artifacts') putArtifactsAlone(view, { key, previous }, op.artifacts)
    if (intentOf !== undefined) view.del(intentKey(key, intentOf))
    return
  }
  assert(previous === undefined || versionOf(previous) < version, 'D1: versions increase')
  view.replace(key, record, intentOf === undefined ? { previous } : { previous, intentOf })
  if (op.kind === 'put') writeArtifacts(context, { key, op, ordinal }, previous)
  else dropMarks(context, key)
}

/** A document in the place of one that is gone inherits nothing. */
function writeArtifacts(
  context: ApplyContext,
  { key, op, ordinal }: PlannedWrite & { readonly ordinal: number | undefined },
  previous: DocumentRecord | undefined,
): void {
  if (previous !== undefined && !isStill(context, previous)) dropArtifacts(context, key)
  putArtifacts(context.view, { key, ordinal }, artifactsIn(op))
}

/** D4. A document from before there were ordinals gets its own with its next write. */
function ordinalAfter(
  context: ApplyContext,
  previous: DocumentRecord | undefined,
): number | undefined {
  const isKept = previous !== undefined && isStill(context, previous)
  return (isKept ? ordinalOf(previous) : undefined) ?? context.view.takeOrdinal()
}

/** Whether the document is neither deleted nor expired: what is written in its place is not a new one. */
function isStill({ ttl, nowMs }: ApplyContext, record: DocumentRecord): boolean {
  return isVisible(record, ttl, nowMs)
}

interface RecordParts {
  readonly op: IntentOp
  readonly ttl: TtlPolicy | undefined
  readonly ordinal: number | undefined
}

/** A deletion leaves a tombstone; a key without a document stays without one. */
function recordAfter(
  { op, ttl, ordinal }: RecordParts,
  previous: DocumentRecord | undefined,
  version: Timestamp,
): DocumentRecord | undefined {
  if (op.kind === 'artifacts') return undefined
  const record = intentOutcome(op, version, { ttl, ordinal })
  if (record !== undefined) return record
  return previous === undefined || isDeleted(previous) ? undefined : encodeTombstone(version)
}

/** Leaves a tombstone; a key without a document stays without one. */
export function removeDocument(context: ApplyContext, key: Buffer, version: Timestamp): void {
  applyPlanned(context, { key, op: { kind: 'delete' } }, version)
}
