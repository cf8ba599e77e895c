// The commands that a caller can propose to a shard, and their outcomes. They are plain data, so that a
// caller can send a command to the machine of the leader. The log and the followers get the effects of a
// command instead, because its effects depend on the settings and the code of the leader that applied it.

import { unreachable } from '../../../lib/assert.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { TransformRequest } from '../../document/transform-request.ts'
import type { ArtifactWrite } from '../../embedding/written-embeddings.ts'
import type { Expiry, TtlPolicy } from '../../schema/document-rules.ts'
import type { EnrichCommand } from './enrich-command.ts'
import type { TransactionId } from './transaction-id.ts'

export type WriteOp =
  | {
      readonly kind: 'put'
      readonly key: Buffer
      readonly json: Buffer
      readonly expiry: Expiry
      readonly artifacts?: readonly ArtifactWrite[] | undefined
    }
  /** Leaves the document as it is, which must exist. */
  | {
      readonly kind: 'artifacts'
      readonly key: Buffer
      readonly artifacts: readonly ArtifactWrite[]
    }
  | { readonly kind: 'delete'; readonly key: Buffer }
  | { readonly kind: 'transform'; readonly key: Buffer; readonly transform: TransformRequest }

/** The latest version of `key` must be `version`; 0 asserts absence. */
export interface VersionCheck {
  readonly key: Buffer
  readonly version: Timestamp
}

/** Writes of one shard with no other shard involved: checked and applied by one log entry. */
export interface WriteCommand {
  readonly checks: readonly VersionCheck[]
  readonly ops: readonly WriteOp[]
  readonly ttl: TtlPolicy | undefined
}

/** Names a shard by a key that it owns. After a split the same address finds the new owner. */
export interface ShardAddress {
  readonly tableId: string
  readonly key: Buffer
}

/**
 * Covers every key that a transaction reads or writes on one shard. It names keys instead of a shard, so
 * that it still finds every holder of a part after the shard was split.
 */
export interface KeyInterval {
  readonly tableId: string
  readonly first: Buffer
  /** Inclusive. */
  readonly last: Buffer
}

/** The facts that let the anchor shard finish a transaction without its coordinator. */
export interface TransactionPlan {
  readonly participants: readonly KeyInterval[]
}

/**
 * A transaction's part on one shard. The shard checks it and lays intents and read locks (INV-T7).
 */
export interface PrepareCommand {
  readonly transactionId: TransactionId
  /** Where the transaction record lies: the first written key, or the first read one. */
  readonly anchor: ShardAddress
  /** Present for the anchor shard alone: its prepare also creates the record. */
  readonly begin: TransactionPlan | undefined
  readonly checks: readonly VersionCheck[]
  readonly ops: readonly WriteOp[]
  readonly ttl: TtlPolicy | undefined
}

/**
 * Ends an undecided transaction at the shard of its anchor. A decided one stays as it is (INV-T1).
 */
export interface DecideCommand {
  readonly transactionId: TransactionId
  readonly anchor: Buffer
  readonly decision: 'commit' | 'abort'
  /** The commit timestamp will not be below this: the greatest answer of the participants. */
  readonly commitAtLeast: Timestamp
}

export type Decision =
  { readonly state: 'committed'; readonly commitTs: Timestamp } | { readonly state: 'aborted' }

export type TransactionStatus = { readonly state: 'pending' } | Decision

/** Puts the outcome of a decided transaction in place of its holds on the shard. */
export interface ResolveCommand {
  readonly transactionId: TransactionId
  readonly decision: Decision
}

/**
 * Deletes documents whose time is over. The leader proposes it; each candidate is checked again.
 */
export interface ExpireCommand {
  /** The TTL policy that the leader read by. Documents of other policies stay. */
  readonly generation: number
  readonly candidates: readonly { readonly key: Buffer; readonly expiresAtMs: number }[]
  readonly nowMs: number
}

/** Gives documents the expiry of a changed TTL policy, without changing their version. */
export interface RetimeCommand {
  readonly generation: number
  /** Whether the pass has now been over every document. */
  readonly completes: boolean
  readonly documents: readonly {
    readonly key: Buffer
    readonly version: Timestamp
    readonly expiresAtMs: number
  }[]
}

/** Gives documents without an ordinal theirs, without changing their version. */
export interface NumberCommand {
  readonly keys: readonly Buffer[]
  /** Whether every document of the shard has one now. */
  readonly completes: boolean
}

/**
 * Drops versions, tombstones and log entries that no reader needs any more. The leader finds them at the
 * old end of its log. One log entry may take several commands; the last of them drops the entry itself.
 */
export interface CollectCommand {
  /** From now on readers below it are refused; undefined if the command drops nothing that they need. */
  readonly upTo: Timestamp | undefined
  /** Log entries to drop. */
  readonly sequences: readonly number[]
  readonly drops: readonly {
    readonly key: Buffer
    /** A version in history, superseded before the horizon. */
    readonly superseded: Timestamp | undefined
    /** A deletion older than the horizon: dropped if it still is the newest record of the key. */
    readonly tombstone: Timestamp | undefined
  }[]
  /** Marks of finished transactions that are past their retention. */
  readonly finished: readonly TransactionId[]
  /** Keys of the store under which indexes that were dropped have left something. */
  readonly artifacts: readonly Buffer[]
}

/** Every kind of command with its members. */
export interface CommandByKind {
  readonly write: WriteCommand
  readonly prepare: PrepareCommand
  readonly decide: DecideCommand
  readonly resolve: ResolveCommand
  /** Drops the record of a transaction that every participant has resolved. */
  readonly forget: { readonly transactionId: TransactionId; readonly anchor: Buffer }
  /** Ends a transaction that has no record here, so that it can never begin. */
  readonly abandon: { readonly transactionId: TransactionId }
  readonly expire: ExpireCommand
  readonly retime: RetimeCommand
  readonly number: NumberCommand
  readonly collect: CollectCommand
  readonly enrich: EnrichCommand
}

export type CommandKind = keyof CommandByKind

/** Any command, or those of the given kinds. */
export type Command<Kind extends CommandKind = CommandKind> = {
  [K in Kind]: { readonly kind: K } & CommandByKind[K]
}[Kind]

/** A refusal of a valid write or prepare: the state of a key was in its way. */
export type Refusal =
  /** A check failed: `found` is the version that is there. */
  | { readonly kind: 'version-changed'; readonly key: Buffer; readonly found: Timestamp }
  /** Another transaction holds the key. */
  | { readonly kind: 'key-held'; readonly key: Buffer; readonly holder: KeyHolder }

/** The transaction that holds a key, and the address of its record. */
export interface KeyHolder {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
}

export type WriteOutcome = { readonly kind: 'written'; readonly version: Timestamp } | Refusal

export type PrepareOutcome =
  /** The commit timestamp must not be below `commitAtLeast`. */
  | { readonly kind: 'prepared'; readonly commitAtLeast: Timestamp }
  /** This transaction is already decided here; a late message must not bring it back. */
  | { readonly kind: 'finished' }
  | Refusal

/** The answer to each kind of command. */
export interface OutcomeOf {
  readonly write: WriteOutcome
  readonly prepare: PrepareOutcome
  readonly decide: Decision
  readonly resolve: undefined
  readonly forget: undefined
  readonly abandon: TransactionStatus
  readonly expire: { readonly deleted: number }
  readonly retime: { readonly changed: number }
  readonly number: { readonly changed: number }
  readonly collect: undefined
  /** Documents that have changed since are skipped. */
  readonly enrich: { readonly written: number; readonly skipped: number }
}

/** A rough size of a command without its operations, in bytes. */
export const COMMAND_BYTES = 64
const ITEM_BYTES = 32

/** A rough size of a write or prepare in bytes. It counts against the limits of queues and groups. */
export function writeBytes({ checks, ops }: Pick<WriteCommand, 'checks' | 'ops'>): number {
  let bytes = COMMAND_BYTES + checks.length * ITEM_BYTES
  for (const op of ops) bytes += opBytes(op)
  return bytes
}

function opBytes(op: WriteOp): number {
  const bytes = ITEM_BYTES + op.key.length
  switch (op.kind) {
    case 'put':
      return bytes + op.json.length + artifactBytes(op.artifacts)
    case 'artifacts':
      return bytes + artifactBytes(op.artifacts)
    case 'delete':
    case 'transform':
      return bytes
    default:
      return unreachable(op)
  }
}

/** Whether a command makes room in the end: it deletes, collects, or ends what was admitted before. */
const FREES: Readonly<Record<CommandKind, boolean | 'if it only deletes'>> = {
  write: 'if it only deletes',
  prepare: 'if it only deletes',
  decide: true,
  resolve: true,
  forget: true,
  abandon: true,
  expire: true,
  collect: true,
  retime: false,
  number: false,
  enrich: false,
}

/** See FREES. */
export function frees(command: Command): boolean {
  const isFreeing = FREES[command.kind]
  if (isFreeing !== 'if it only deletes') return isFreeing
  const ops = 'ops' in command ? command.ops : []
  return ops.length > 0 && ops.every(({ kind }) => kind === 'delete')
}

/** A rough size of what is written to artifacts, in bytes. */
export function artifactBytes(artifacts: readonly ArtifactWrite[] = []): number {
  return artifacts.reduce((sum, { artifact }) => sum + ITEM_BYTES + (artifact?.length ?? 0), 0)
}
