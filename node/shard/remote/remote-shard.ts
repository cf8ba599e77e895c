// A shard that another node leads. See shard.ts for the contract, and docs/reference/formats/shard-calls.md for the bytes.

import { assert } from '../../../lib/assert.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { STOP_REASONS, stoppedError } from '../../index/host/protocol.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import type {
  DecideCommand,
  Decision,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from '../command/command.ts'
import type { KeyRange } from '../command/key-range.ts'
import type { TransactionId } from '../command/transaction-id.ts'
import type { IndexStatus, IndexStatusOptions } from '../following/index-health.ts'
import type {
  PositionLimits,
  ShardSearchLimits,
  ToldPosition,
} from '../following/index-position.ts'
import type { DocumentRecord } from '../format/document-record.ts'
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
} from '../shard.ts'
import type { ShardId } from '../shard-id.ts'
import { readLong } from './read-long.ts'
import { remoteArtifacts } from './remote-artifacts.ts'
import { remoteResolve } from './remote-resolve.ts'
import { remoteScan } from './remote-scan.ts'
import { remoteSearch } from './remote-search.ts'
import { ShardAsker, type ShardAskerOptions } from './shard-asker.ts'
import { OPERATIONS, SHARD_CALLS } from './shard-calls.ts'

/** A remote shard: its place in the table, and what its calls need. */
export interface RemoteShardOptions extends ShardAskerOptions {
  readonly range: KeyRange
}

/**
 * Asks the node that leads the shard. Beside the contract of Shard:
 * - A call is made again if nothing happened, and also after an unknown outcome if it may be repeated.
 *   `write` is not repeated then: it rejects with UNAVAILABLE. A call without a limit of its own ends after
 *   CALL_TIMEOUT_MS: with NOT_LEADER if nothing happened, otherwise with UNAVAILABLE.
 * - `prepareInOrder` answers when its entry is durable. `durableOrder` is unknown.
 * - A scan whose leader goes away continues at the next one behind its last row, at the same timestamp.
 * - `hurry` is lost if no connection is open, and then nothing waits at the other side.
 */
export class RemoteShard implements Shard {
  readonly id: ShardId
  readonly range: KeyRange
  readonly durableOrder = undefined
  readonly #asker: ShardAsker

  constructor(options: RemoteShardOptions) {
    this.id = options.id
    this.range = options.range
    this.#asker = new ShardAsker(options)
  }

  async read(key: Buffer, options?: CallOptions): Promise<DocumentRecord | undefined> {
    const found = await this.#asker.ask(SHARD_CALLS.read, key, options)
    if (found.kind === 'long') return readLong(this.#asker, key, options)
    return found.kind === 'record' ? found.record : undefined
  }

  artifacts(asked: ArtifactsAsked, options?: CallOptions): Promise<readonly FoundArtifacts[]> {
    return remoteArtifacts(this.#asker, asked, options)
  }

  moment(range: KeyRange, options?: CallOptions): Promise<Timestamp> {
    return this.#asker.ask(SHARD_CALLS.moment, range, options)
  }

  scan(options: ShardScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    return remoteScan(this.#asker, options)
  }

  async pinHistory(pin: HistoryPin, options?: CallOptions): Promise<void> {
    await this.#asker.ask(SHARD_CALLS.pinHistory, pin, options)
  }

  write(command: WriteCommand, options?: CallOptions): Promise<WriteOutcome> {
    const operation = OPERATIONS.writeLong
    return this.#asker.askLong(SHARD_CALLS.write, command, { ...options, operation })
  }

  prepare(command: PrepareCommand, options?: CallOptions): Promise<PrepareOutcome> {
    const operation = OPERATIONS.prepareLong
    return this.#asker.askLong(SHARD_CALLS.prepare, command, { ...options, operation })
  }

  async prepareInOrder(command: PrepareCommand, options?: CallOptions): Promise<PreparedInOrder> {
    return { outcome: await this.prepare(command, options), fate: undefined }
  }

  async decide(command: DecideCommand, options: DecideOptions = {}): Promise<Decision> {
    const { after = [], signal } = options
    assert(after.length === 0, 'a decision relies on fates only within one durable order')
    return this.#asker.ask(SHARD_CALLS.decide, command, { signal })
  }

  resolve(command: ResolveCommand, options?: ResolveOptions): Promise<void> {
    return remoteResolve(this.#asker, command, options)
  }

  async forget(transactionId: TransactionId, anchor: Buffer): Promise<void> {
    await this.#asker.ask(SHARD_CALLS.forget, { transactionId, anchor })
  }

  push(push: Push, options?: CallOptions): Promise<TransactionStatus> {
    return this.#asker.ask(SHARD_CALLS.push, push, options)
  }

  async heartbeat(transactionId: TransactionId, options?: CallOptions): Promise<void> {
    await this.#asker.ask(SHARD_CALLS.heartbeat, transactionId, options)
  }

  hurry(): void {
    this.#asker.tell(OPERATIONS.hurry)
  }

  async waitForRelease(
    transactionId: TransactionId,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    const { clock } = this.#asker
    const deadlineMs = clock.monotonicMs() + timeoutMs
    const argument = { transactionId, timeoutMs }
    try {
      await this.#asker.ask(SHARD_CALLS.waitForRelease, argument, { signal, deadlineMs })
    } catch (error) {
      // The time is over: the caller tries its luck, whatever kept the answer away.
      const isOver = clock.monotonicMs() >= deadlineMs
      if (!isOver || signal?.aborted === true || !isServiceError(error)) throw error
    }
  }

  async search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    const { signal, deadlineMs } = limits
    const isLate = (): boolean => this.#asker.clock.monotonicMs() >= deadlineMs
    if (signal.aborted) throw stoppedError(STOP_REASONS.cancelled)
    if (isLate()) throw stoppedError(STOP_REASONS.deadline)
    try {
      return await remoteSearch(this.#asker, { index, asked: request }, limits)
    } catch (error) {
      if (signal.aborted) throw stoppedError(STOP_REASONS.cancelled)
      if (isServiceError(error) && isLate()) throw stoppedError(STOP_REASONS.deadline)
      throw error
    }
  }

  indexPosition(index: string, { atLeast, ...limits }: PositionLimits): Promise<ToldPosition> {
    return this.#asker.ask(SHARD_CALLS.indexPosition, { index, atLeast }, limits)
  }

  indexStatus(index: string, { parkedMax = 0 }: IndexStatusOptions = {}): Promise<IndexStatus> {
    return this.#asker.ask(SHARD_CALLS.indexStatus, { index, parkedMax })
  }

  async waitForIndexes({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const limits = { signal, deadlineMs: Infinity }
    await this.#asker.ask(SHARD_CALLS.waitForIndexes, undefined, limits)
  }

  stats(options?: CallOptions): Promise<ShardStats> {
    return this.#asker.ask(SHARD_CALLS.stats, undefined, options)
  }

  state(options?: CallOptions): Promise<ShardCondition> {
    return this.#asker.ask(SHARD_CALLS.state, undefined, options)
  }
}
