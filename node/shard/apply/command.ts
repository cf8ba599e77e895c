// What can be proposed to a shard, and what it answers. All of it is plain data, so that a command
// can be logged, sent to another machine and applied there with the same outcome.

import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { TransformRequest } from '../../document/transform.ts'
import type { Expiry, TtlPolicy } from '../../schema/document-rules.ts'
import type { TransactionId } from '../transaction-id.ts'

export type WriteOp =
  | {
      readonly kind: 'put'
      readonly key: Buffer
      readonly json: Buffer
      readonly expiry: Expiry
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

/** Names the shard that owns a key, whatever shard that is at the moment. */
export interface ShardAddress {
  readonly tableId: string
  readonly key: Buffer
}

/**
 * What a transaction reads and writes of one shard: no key of it lies outside. It names keys and not a
 * shard, so that everybody who holds a part of it is found, however the shard was split since.
 */
export interface KeyInterval {
  readonly tableId: string
  readonly first: Buffer
  /** Inclusive. */
  readonly last: Buffer
}

/** What the anchor shard must remember to finish a transaction without its coordinator. */
export interface TransactionPlan {
  readonly participants: readonly KeyInterval[]
}

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

export interface ResolveCommand {
  readonly transactionId: TransactionId
  readonly decision: Decision
}

export interface ExpireCommand {
  /** Of the policy the leader saw: a document stamped by another one is not expired by it. */
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

/**
 * Drops what no reader can need any more; the leader found it out from the old end of its log. What one
 * log entry touched may take several commands: the entry goes with the last of them.
 */
export interface CollectCommand {
  /** Readers below it are refused from now on; undefined when nothing that is dropped is theirs. */
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
}

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
  readonly collect: CollectCommand
}

export type CommandKind = keyof CommandByKind

/** Any command, or those of the given kinds. */
export type Command<Kind extends CommandKind = CommandKind> = {
  [K in Kind]: { readonly kind: K } & CommandByKind[K]
}[Kind]

/** Why a write or prepare was refused although nothing is wrong with it. */
export type Refusal =
  /** A check failed: `found` is the version that is there. */
  | { readonly kind: 'version-changed'; readonly key: Buffer; readonly found: Timestamp }
  /** Another transaction holds the key. */
  | { readonly kind: 'key-held'; readonly key: Buffer; readonly holder: KeyHolder }

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

export interface OutcomeOf {
  readonly write: WriteOutcome
  readonly prepare: PrepareOutcome
  readonly decide: Decision
  readonly resolve: undefined
  readonly forget: undefined
  readonly abandon: TransactionStatus
  readonly expire: { readonly deleted: number }
  readonly retime: { readonly changed: number }
  readonly collect: undefined
}
