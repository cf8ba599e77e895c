// A shard of a cluster as any node has it: its own replica while that leads, otherwise the node that does.

import { isServiceError } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../index/kinds/index-questions.ts'
import type {
  DecideCommand,
  Decision,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from '../shard/command/command.ts'
import type { IndexClient } from '../index/host/index-client.ts'
import type { KeyRange } from '../shard/command/key-range.ts'
import type { TransactionId } from '../shard/command/transaction-id.ts'
import type { IndexStatus, IndexStatusOptions } from '../shard/following/index-health.ts'
import type {
  PositionLimits,
  BehindHearer,
  ShardSearchLimits,
  ToldPosition,
} from '../shard/following/index-position.ts'
import type { DocumentRecord } from '../shard/format/document-record.ts'
import type { LocalShard } from '../shard/local-shard.ts'
import type {
  ArtifactsAsked,
  CallOptions,
  DecideOptions,
  FoundArtifacts,
  HistoryPin,
  PreparedInOrder,
  Push,
  ResolveOptions,
  ScanRow,
  Shard,
  ShardCondition,
  ShardScanOptions,
  ShardStats,
} from '../shard/shard.ts'
import type { ShardId } from '../shard/shard-id.ts'

/** The two ways to a shard. */
export interface ClusterShardOptions {
  /** The replica on this node; undefined if there is none. */
  readonly local: () => LocalShard | undefined
  /** Finds the leader, wherever it is, and asks it. */
  readonly remote: Shard
}

/**
 * Chooses the way for each call. A call that this node's replica refuses with NOT_LEADER, because it has just
 * lost its leadership, goes to the leader: nothing has happened.
 */
export class ClusterShard implements Shard {
  readonly id: ShardId
  readonly range: KeyRange
  readonly durableOrder = undefined
  readonly #with: ClusterShardOptions

  constructor(options: ClusterShardOptions) {
    this.id = options.remote.id
    this.range = options.remote.range
    this.#with = options
  }

  /** This node's replica while it leads. */
  get #led(): Shard | undefined {
    const local = this.#with.local()
    return local?.replicated?.isServing === true ? local : undefined
  }

  #ask<Answer>(call: (shard: Shard) => Promise<Answer>): Promise<Answer> {
    const led = this.#led
    const { remote } = this.#with
    if (led === undefined) return call(remote)
    return call(led).catch(elsewhere(() => call(remote)))
  }

  /** As `#ask`, without a promise where this node's replica answers at once. */
  #askAtOnce<Answer>(call: (shard: Shard) => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const led = this.#led
    const { remote } = this.#with
    if (led === undefined) return call(remote)
    const found = call(led)
    return found instanceof Promise ? found.catch(elsewhere(() => call(remote))) : found
  }

  read(
    key: Buffer,
    options?: CallOptions,
  ): DocumentRecord | undefined | Promise<DocumentRecord | undefined> {
    return this.#askAtOnce((shard) => shard.read(key, options))
  }

  artifacts(asked: ArtifactsAsked, options?: CallOptions): Promise<readonly FoundArtifacts[]> {
    return this.#ask((shard) => shard.artifacts(asked, options))
  }

  moment(range: KeyRange, options?: CallOptions): Timestamp | Promise<Timestamp> {
    return this.#askAtOnce((shard) => shard.moment(range, options))
  }

  scan(options: ShardScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    return this.#ask((shard) => shard.scan(options))
  }

  pinHistory(pin: HistoryPin, options?: CallOptions): Promise<void> {
    return this.#ask((shard) => shard.pinHistory(pin, options))
  }

  write(command: WriteCommand, options?: CallOptions): Promise<WriteOutcome> {
    return this.#ask((shard) => shard.write(command, options))
  }

  prepare(command: PrepareCommand, options?: CallOptions): Promise<PrepareOutcome> {
    return this.#ask((shard) => shard.prepare(command, options))
  }

  prepareInOrder(command: PrepareCommand, options?: CallOptions): Promise<PreparedInOrder> {
    return this.#ask((shard) => shard.prepareInOrder(command, options))
  }

  decide(command: DecideCommand, options?: DecideOptions): Promise<Decision> {
    return this.#ask((shard) => shard.decide(command, options))
  }

  resolve(command: ResolveCommand, options?: ResolveOptions): Promise<void> {
    return this.#ask((shard) => shard.resolve(command, options))
  }

  forget(transactionId: TransactionId, anchor: Buffer): Promise<void> {
    return this.#ask((shard) => shard.forget(transactionId, anchor))
  }

  push(push: Push, options?: CallOptions): Promise<TransactionStatus> {
    return this.#ask((shard) => shard.push(push, options))
  }

  heartbeat(transactionId: TransactionId, options?: CallOptions): Promise<void> {
    return this.#ask((shard) => shard.heartbeat(transactionId, options))
  }

  hurry(): void {
    const shard = this.#led ?? this.#with.remote
    shard.hurry()
  }

  waitForRelease(
    transactionId: TransactionId,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    return this.#ask((shard) => shard.waitForRelease(transactionId, options))
  }

  search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    return this.#ask((shard) => shard.search<Kind, Name>(index, request, limits))
  }

  indexAtOnce(index: string, kind: QueryableKind, limits: BehindHearer): IndexClient | undefined {
    return this.#led?.indexAtOnce?.(index, kind, limits)
  }

  indexPosition(index: string, limits: PositionLimits): Promise<ToldPosition> {
    return this.#ask((shard) => shard.indexPosition(index, limits))
  }

  indexStatus(index: string, options?: IndexStatusOptions): Promise<IndexStatus> {
    return this.#ask((shard) => shard.indexStatus(index, options))
  }

  waitForIndexes(options: { readonly signal: AbortSignal }): Promise<void> {
    return this.#ask((shard) => shard.waitForIndexes(options))
  }

  stats(options?: CallOptions): Promise<ShardStats> {
    return this.#ask((shard) => shard.stats(options))
  }

  state(options?: CallOptions): Promise<ShardCondition> {
    return this.#ask((shard) => shard.state(options))
  }
}

function elsewhere<Answer>(ask: () => Answer): (error: unknown) => Answer {
  return (error) => {
    if (isServiceError(error) && error.code === 'NOT_LEADER') return ask()
    throw error
  }
}
