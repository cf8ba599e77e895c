// The participant's and the record's side of a transaction.
//
// Invariants:
//   INV-T1  A decided transaction stays decided: only `pending` is ever replaced.
//   INV-T3  No visible version comes from an aborted transaction: intents become versions only in
//           `resolve` with `committed`.
//   INV-T4  All versions of a transaction share one commit timestamp: the record's.
//   INV-T7  No intent appears after the transaction's finished mark, nor once the mark may be gone.
//   INV-T9  Plain writes obey the same holds as transactions.
//   INV-T10 The commit timestamp is above every prior version and served read of its keys: it is at
//           least the stamp of each prepare, the stamp of the deciding entry and the push floor.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { millisOf, timestampOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import type { ApplyContext, LiveTransaction } from './apply-context.ts'
import {
  applyPlanned,
  failedCheck,
  planWrites,
  READ_BYTES_PER_STEP,
  READ_COST,
  type PlannedWrite,
} from './apply-documents.ts'
import {
  artifactBytes,
  type CommandByKind,
  type DecideCommand,
  type Decision,
  type PrepareCommand,
  type PrepareOutcome,
  type Refusal,
  type ResolveCommand,
  type TransactionStatus,
  type WriteCommand,
  type WriteOutcome,
} from '../command/command.ts'
import { encodeIntent, type IntentOp } from '../format/intent-codec.ts'
import { intentKey, transactionKey } from '../format/keyspace.ts'
import { encodeTransactionRecord } from '../format/transaction-record.ts'
import { changeBy } from './plain-change.ts'
import { nameOf } from './shard-overlay.ts'
import { begunAtOf, type TransactionId } from '../command/transaction-id.ts'

/** How long the end of a transaction is remembered; a prepare that is older is refused unseen. */
export const FINISHED_RETENTION_MS = 3_600_000
/** Looked up in about a millisecond. */
const KEYS_PER_STEP = 2000

export function applyWrite(
  context: ApplyContext,
  command: WriteCommand,
): WriteOutcome | Sliced<WriteOutcome> {
  const plain = plainWriteOf(command)
  return plain === undefined ? writeInSteps(context, command) : writePlain(context, plain)
}

function* writeInSteps(context: ApplyContext, command: WriteCommand): Sliced<WriteOutcome> {
  const refusal = yield* refusalOf(context, command)
  if (refusal !== undefined) return refusal
  const plan = yield* planWrites(context, command.ops, command.ttl)
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  for (const write of plan) {
    applyPlanned(context, write, context.stamp)
    if (meter.spend(costOf(context, write))) yield
  }
  return { kind: 'written', version: context.stamp }
}

/** The one write of a command that checks and computes nothing: most commands are like that. */
function plainWriteOf({ checks, ops, ttl }: WriteCommand): PlannedWrite | undefined {
  const [op] = ops
  if (op === undefined || ops.length > 1 || checks.length > 0 || op.kind === 'transform') {
    return undefined
  }
  // Artifacts alone need a look at their document.
  if (op.kind === 'artifacts') return undefined
  return { key: op.key, op: changeBy(op, ttl?.generation ?? 0) }
}

/** One step: no generators on the way of the most frequent command. */
function writePlain(context: ApplyContext, write: PlannedWrite): WriteOutcome {
  const hold = context.memory.locks.blocker(write.key, 'write')
  if (hold !== undefined) {
    const { transactionId, anchor } = hold.intent
    return { kind: 'key-held', key: write.key, holder: { transactionId, anchor } }
  }
  applyPlanned(context, write, context.stamp)
  return { kind: 'written', version: context.stamp }
}

export function* applyPrepare(
  context: ApplyContext,
  command: PrepareCommand,
): Sliced<PrepareOutcome> {
  const { transactionId, begin, anchor } = command
  const { memory, stamp, view } = context
  if (isFinished(context, transactionId)) return { kind: 'finished' }
  const held = memory.locks.heldBy(transactionId)[0]
  if (held !== undefined) return { kind: 'prepared', commitAtLeast: held.intent.commitAtLeast }
  const refusal = yield* refusalOf(context, command, transactionId)
  if (refusal !== undefined) return refusal

  const plan = yield* planWithLocks(context, command)
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  // From here on nothing fails: the holds are in memory before their entry is.
  for (const { key, op } of plan) {
    const intent = { transactionId, anchor, commitAtLeast: stamp, op }
    view.put(intentKey(key, transactionId), encodeIntent(intent))
    memory.locks.add({ key, intent, heldSinceMs: context.monotonicMs })
    if (meter.spend(READ_COST + intentBytes(op))) yield
  }
  if (begin !== undefined) {
    const live: LiveTransaction = {
      anchor: anchor.key,
      participants: begin.participants,
      status: { state: 'pending' },
      decidedAt: undefined,
      heardAtMs: context.monotonicMs,
    }
    memory.live.set(transactionId, live)
    saveRecord(context, transactionId, live)
  }
  return { kind: 'prepared', commitAtLeast: stamp }
}

export function applyDecide(context: ApplyContext, command: DecideCommand): Decision {
  const { transactionId, decision, commitAtLeast } = command
  const live = context.memory.live.get(transactionId)
  // Without a record no prepare was ever complete, so the shard has promised nothing.
  if (live === undefined) return finishAsAborted(context, transactionId)
  if (live.status.state !== 'pending') return live.status
  const decided: Decision =
    decision === 'abort'
      ? { state: 'aborted' }
      : { state: 'committed', commitTs: commitTimestamp(context, transactionId, commitAtLeast) }
  live.status = decided
  live.decidedAt = context.sequence
  saveRecord(context, transactionId, live)
  return decided
}

/**
 * The decision is durable, so readers see its outcome at once, and writers find the keys free: the holds
 * go when the outcome is in the overlay.
 */
export function* applyResolve(context: ApplyContext, command: ResolveCommand): Sliced<undefined> {
  const { transactionId, decision } = command
  const { view, memory } = context
  view.showAtOnce()
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  for (const { key, intent } of memory.locks.heldBy(transactionId)) {
    const write = { key, op: intent.op, intentOf: transactionId }
    if (decision.state === 'committed') applyPlanned(context, write, decision.commitTs)
    else view.del(intentKey(key, transactionId))
    if (meter.spend(costOf(context, write))) yield
  }
  view.markFinished(transactionId, decision)
  return undefined
}

/** The cost of applying a write: it reads the record that it replaces, and makes its own. */
function costOf({ view }: ApplyContext, { op }: PlannedWrite): number {
  return READ_COST + (op.kind === 'delete' ? view.replacedBytes : intentBytes(op))
}

function intentBytes(op: IntentOp): number {
  if (op.kind === 'put') return op.json.length + artifactBytes(op.artifacts)
  return op.kind === 'artifacts' ? artifactBytes(op.artifacts) : 0
}

/** Aborts a transaction that has no record here and, by its mark, keeps it from ever beginning. */
export function applyAbandon(
  context: ApplyContext,
  { transactionId }: CommandByKind['abandon'],
): TransactionStatus {
  return context.memory.live.get(transactionId)?.status ?? finishAsAborted(context, transactionId)
}

export function applyForget(
  context: ApplyContext,
  { transactionId, anchor }: CommandByKind['forget'],
): undefined {
  const live = context.memory.live.get(transactionId)
  if (live === undefined || live.status.state === 'pending') return undefined
  // The anchor is a participant too, so its own resolution has left the finished mark.
  context.view.del(transactionKey(anchor, transactionId))
  return undefined
}

function* refusalOf(
  context: ApplyContext,
  { checks, ops, ttl }: WriteCommand | PrepareCommand,
  by?: TransactionId,
): Sliced<Refusal | undefined> {
  const { locks } = context.memory
  if (locks.size > 0) {
    const blocker =
      (yield* firstBlocker(checks, (key) => locks.blocker(key, 'read', by))) ??
      (yield* firstBlocker(ops, (key) => locks.blocker(key, 'write', by)))
    if (blocker !== undefined) return blocker
  }
  return yield* failedCheck(context, checks, ttl)
}

function* firstBlocker(
  items: readonly { readonly key: Buffer }[],
  find: (key: Buffer) => ReturnType<ApplyContext['memory']['locks']['blocker']>,
): Sliced<Refusal | undefined> {
  const meter = new StepMeter(KEYS_PER_STEP)
  for (const { key } of items) {
    const hold = find(key)
    if (hold !== undefined) {
      const { transactionId, anchor } = hold.intent
      return { kind: 'key-held', key, holder: { transactionId, anchor } }
    }
    if (meter.spend(1)) yield
  }
  return undefined
}

/** The planned writes, and a read lock for every checked key that is not written. */
function* planWithLocks(
  context: ApplyContext,
  command: PrepareCommand,
): Sliced<readonly PlannedWrite[]> {
  const writes = yield* planWrites(context, command.ops, command.ttl)
  const meter = new StepMeter(KEYS_PER_STEP)
  const written = new Set<string>()
  for (const { key } of writes) {
    written.add(nameOf(key))
    if (meter.spend(1)) yield
  }
  const plan = [...writes]
  for (const { key } of command.checks) {
    if (!written.has(nameOf(key))) plan.push({ key, op: { kind: 'lock' } })
    if (meter.spend(1)) yield
  }
  return plan
}

function isFinished({ view, memory, nowMs }: ApplyContext, id: TransactionId): boolean {
  if (millisOf(begunAtOf(id)) + FINISHED_RETENTION_MS <= nowMs) return true
  const live = memory.live.get(id)
  if (live !== undefined) return live.status.state !== 'pending'
  return view.finished(id) !== undefined
}

function finishAsAborted({ view }: ApplyContext, transactionId: TransactionId): Decision {
  const earlier = view.finished(transactionId)
  if (earlier !== undefined) return earlier
  view.markFinished(transactionId, { state: 'aborted' })
  return { state: 'aborted' }
}

function commitTimestamp(
  { stamp, memory }: ApplyContext,
  transactionId: TransactionId,
  commitAtLeast: Timestamp,
): Timestamp {
  const floor = memory.pushFloors.get(transactionId)
  const aboveFloor = floor === undefined ? stamp : timestampOf(floor + 1n)
  return [commitAtLeast, aboveFloor].reduce((max, next) => (next > max ? next : max), stamp)
}

function saveRecord(
  { view }: ApplyContext,
  transactionId: TransactionId,
  { anchor, participants, status }: LiveTransaction,
): void {
  view.put(transactionKey(anchor, transactionId), encodeTransactionRecord({ status, participants }))
}
