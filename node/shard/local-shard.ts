// A shard in this process, with one replica. See shard.ts for the contract.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { millisOf, type HybridClock } from '../clock/hybrid-clock.ts'
import type {
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from '../index/text/search/text-search.ts'
import type { SearchLimits } from '../index/text/worker/remote-text-index.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import type { KvStore } from '../storage/kv-store.ts'
import type {
  Command,
  CommandKind,
  DecideCommand,
  Decision,
  KeyHolder,
  OutcomeOf,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from './apply/command.ts'
import { COMMAND_BYTES, writeBytes } from './apply/command-size.ts'
import { checkRecord, type DocumentRecord } from './format/document-record.ts'
import { GroupCommit } from './group-commit.ts'
import { HolderReader } from './holder-reader.ts'
import type { KeyRange } from './key-range.ts'
import { documentKey, documentRange } from './format/keyspace.ts'
import type { Hold } from './lock-table.ts'
import { ProposedCommand } from './apply/proposed-command.ts'
import { PushAnswers } from './push-answers.ts'
import { ReleaseWaiters } from './release-waiters.ts'
import { scanSnapshot } from './shard-scan.ts'
import { ShardTextIndexes, type TextIndexParts } from './indexing/shard-text-indexes.ts'
import type { TableSettings } from './table-settings.ts'
import { ShardState } from './shard-state.ts'
import type {
  Push,
  ScanOptions,
  ScanRow,
  Shard,
  ShardRouter,
  ShardState as ShardHealth,
  ShardStats,
  TextIndexStatus,
  UnfinishedTransaction,
} from './shard.ts'
import type { ShardId } from './shard-id.ts'
import type { TransactionId } from './transaction-id.ts'
import { isVisible } from './visibility.ts'

export interface LocalShardOptions {
  readonly id: ShardId
  readonly range: KeyRange
  readonly store: KvStore
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly router: ShardRouter
  readonly settings: TableSettings
  /** Absent: the shard has no text indexes. */
  readonly text?: TextIndexParts | undefined
}

export class LocalShard implements Shard, AsyncDisposable {
  readonly id: ShardId
  readonly range: KeyRange
  readonly store: KvStore
  readonly #options: LocalShardOptions
  readonly #state: ShardState
  readonly #log: GroupCommit<ProposedCommand, void>
  readonly #waiters: ReleaseWaiters
  readonly #holders: HolderReader
  readonly #pushes: PushAnswers
  readonly #text: ShardTextIndexes | undefined
  #trouble: ServiceError | undefined
  #sealed = false

  private constructor(options: LocalShardOptions, state: ShardState, waiters: ReleaseWaiters) {
    this.id = options.id
    this.range = options.range
    this.store = options.store
    this.#options = options
    this.#state = state
    this.#waiters = waiters
    this.#log = new GroupCommit(state)
    const { text, clock, hybridClock, settings, router } = options
    this.#holders = new HolderReader({ state, router, clock, hybridClock })
    this.#pushes = new PushAnswers({
      state,
      clock,
      hybridClock,
      settled: () => this.#log.settled(),
      propose: (command) => this.#propose(command),
    })
    this.#text = text && new ShardTextIndexes(this, text, { clock, settings })
  }

  static async open(options: LocalShardOptions): Promise<LocalShard> {
    const waiters = new ReleaseWaiters(options.clock)
    const { store, hybridClock, clock, settings } = options
    const state = await ShardState.open({
      store,
      hybridClock,
      clock,
      settings,
      onReleased: (ids) => waiters.wake(ids),
    })
    return new LocalShard(options, state, waiters)
  }

  get ttl(): TtlPolicy | undefined {
    return this.#state.settings.ttl
  }

  /**
   * The schema or the indexes changed. Reads follow a new TTL at once, records by the retiming pass.
   * Resolves when dropped indexes have left the disk.
   */
  async setSettings(settings: TableSettings): Promise<void> {
    this.#state.settings = settings
    await this.#text?.set(settings)
  }

  get committedSequence(): number {
    return this.#state.committedSequence
  }

  get syncedSequence(): number {
    return this.#state.syncedSequence
  }

  onCommitted(listener: () => void): () => void {
    return this.#state.onCommitted(listener)
  }

  /** The log entries above this one are still needed by an index. */
  get indexedUpTo(): number {
    return this.#text?.neededAbove ?? Infinity
  }

  async searchText(
    index: string,
    request: TextSearchRequest,
    limits: SearchLimits,
  ): Promise<TextSearchAnswer> {
    return (await this.#textIndexes().get(index)).search(request, limits)
  }

  async textStatistics(
    index: string,
    request: TextStatisticsRequest,
    limits: SearchLimits,
  ): Promise<TextStatistics> {
    return (await this.#textIndexes().get(index)).statistics(request, limits)
  }

  async textIndexStatus(index: string): Promise<TextIndexStatus> {
    return (await this.#textIndexes().get(index)).status()
  }

  async waitForText({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#text?.waitFor(this.committedSequence, signal)
  }

  #textIndexes(): ShardTextIndexes {
    if (this.#text !== undefined) return this.#text
    throw new ServiceError('UNAVAILABLE', 'this node keeps no text indexes')
  }

  read(key: Buffer): DocumentRecord | undefined | Promise<DocumentRecord | undefined> {
    const hold = this.#state.memory.locks.writer(key)
    return hold === undefined ? this.#readStored(key) : this.#readHeld(key, hold)
  }

  #readStored(key: Buffer): DocumentRecord | undefined {
    const record = this.store.get(documentKey(key))
    if (record === undefined) return undefined
    return isVisible(checkRecord(record), this.ttl, this.#nowMs()) ? record : undefined
  }

  async #readHeld(key: Buffer, hold: Hold): Promise<DocumentRecord | undefined> {
    const found = await this.#holders.recordBehind(hold)
    return found.kind === 'decided' ? found.record : this.#readStored(key)
  }

  async scan({ range, at, signal }: ScanOptions): Promise<AsyncIterable<readonly ScanRow[]>> {
    this.#options.hybridClock.observe(at)
    await this.#log.settled() // so that whatever is stamped at or below `at` is in the snapshot
    const snapshot = this.store.snapshot()
    try {
      const overlay = await this.#holders.overlay(range, at)
      return scanSnapshot({ snapshot, range, at, signal, overlay, ttl: this.ttl })
    } catch (error) {
      await snapshot[Symbol.asyncDispose]()
      throw error
    }
  }

  write(command: WriteCommand): Promise<WriteOutcome> {
    if (this.#sealed) return Promise.reject(sealedError())
    if (this.#text === undefined) return this.#proposeWrite(command)
    const room = this.#text.room()
    return room === undefined
      ? this.#proposeWrite(command)
      : room.then(() => this.#proposeWrite(command))
  }

  async #proposeWrite(command: WriteCommand): Promise<WriteOutcome> {
    const bytes = writeBytes(command)
    const outcome = await this.#propose({ kind: 'write', ...command }, bytes)
    this.#text?.wrote(bytes, this.committedSequence)
    return outcome
  }

  prepare(command: PrepareCommand): Promise<PrepareOutcome> {
    if (this.#sealed) return Promise.reject(sealedError())
    return this.#propose({ kind: 'prepare', ...command }, writeBytes(command))
  }

  decide(command: DecideCommand): Promise<Decision> {
    return this.#propose({ kind: 'decide', ...command })
  }

  async resolve(command: ResolveCommand): Promise<void> {
    const { decision } = command
    if (decision.state === 'committed') this.#options.hybridClock.observe(decision.commitTs)
    await this.#propose({ kind: 'resolve', ...command })
  }

  async forget(transactionId: TransactionId, anchor: Buffer): Promise<void> {
    await this.#propose({ kind: 'forget', transactionId, anchor })
  }

  push(push: Push): Promise<TransactionStatus> {
    return this.#pushes.answer(push)
  }

  async sync(): Promise<void> {
    await this.#propose({ kind: 'sync' })
  }

  heartbeat(transactionId: TransactionId): void {
    const live = this.#state.memory.live.get(transactionId)
    if (live !== undefined) live.heardAtMs = this.#options.clock.monotonicMs()
  }

  async waitForRelease(
    transactionId: TransactionId,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    if (this.#state.memory.locks.heldBy(transactionId).length === 0) return
    await this.#waiters.wait(transactionId, options)
  }

  unfinishedTransactions(): readonly UnfinishedTransaction[] {
    return [...this.#state.memory.live].map(([transactionId, live]) => ({
      transactionId,
      anchor: live.anchor,
      participants: live.participants,
      status: this.#state.isDurable(live) ? live.status : { state: 'pending' },
      idleMs: this.#idleMs(live.heardAtMs),
    }))
  }

  oldHolders(ageMs: number): readonly KeyHolder[] {
    return [...this.#state.memory.locks.oldest()]
      .filter(({ heldSinceMs }) => this.#idleMs(heldSinceMs) > ageMs)
      .map(({ intent: { transactionId, anchor } }) => ({ transactionId, anchor }))
  }

  get heldKeys(): number {
    return this.#state.memory.locks.size
  }

  async stats(): Promise<ShardStats> {
    const diskBytes = await this.store.approximateBytes({})
    return { diskBytes, empty: await this.#isEmpty() }
  }

  async #isEmpty(): Promise<boolean> {
    const nowMs = this.#nowMs()
    const everything: KeyRange = { start: Buffer.alloc(0), end: undefined }
    for await (const page of this.store.pages(documentRange(everything))) {
      if (page.some(([, record]) => isVisible(record, this.ttl, nowMs))) return false
    }
    return true
  }

  state(): ShardHealth {
    if (this.#trouble === undefined) return { kind: 'serving' }
    const kind = this.#trouble.code === 'DISK_FULL' ? 'read_only' : 'failed'
    return { kind, reason: this.#trouble.message }
  }

  /** For the shard's own housekeeping; others use the named methods. */
  housekeep<Kind extends 'expire' | 'retime' | 'collect'>(
    command: Command<Kind>,
  ): Promise<OutcomeOf[Kind]> {
    return this.#propose(command)
  }

  /**
   * The table is being dropped: from now on nothing begins here, while what has begun can still end.
   * Resolves when every proposal of before has been answered.
   */
  async seal(): Promise<void> {
    this.#sealed = true
    await this.#log.idle()
  }

  async close(): Promise<void> {
    await this.#closeText()
    await this.#log.close()
    await this.store.close()
  }

  async #closeText(): Promise<void> {
    if (this.#text === undefined) return
    // A checkpoint must not be above what is synced, so this spares the next start a replay.
    const isLagging = !this.#sealed && this.syncedSequence < this.committedSequence
    if (isLagging) await this.sync().catch(() => undefined)
    await this.#text.close({ flush: !this.#sealed })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #propose<Kind extends CommandKind>(
    command: Command<Kind>,
    bytes = COMMAND_BYTES,
  ): Promise<OutcomeOf[Kind]> {
    try {
      const proposed = new ProposedCommand(command)
      await this.#log.propose(proposed, bytes)
      this.#trouble = undefined
      return must(proposed.outcome, 'the outcome of an applied command').value
    } catch (error) {
      if (isServiceError(error) && isTrouble(error)) this.#trouble = error
      throw error
    }
  }

  /** Expiry is judged by hybrid time everywhere, so that a lookup and a commit's check agree. */
  #nowMs(): number {
    return this.ttl === undefined ? 0 : millisOf(this.#options.hybridClock.readPoint())
  }

  #idleMs(sinceMs: number): number {
    return this.#options.clock.monotonicMs() - sinceMs
  }
}

function sealedError(): ServiceError {
  return new ServiceError('NOT_FOUND', 'the table was dropped; create it first')
}

function isTrouble({ code }: ServiceError): boolean {
  return code === 'DISK_FULL' || code === 'CORRUPTION'
}
