// A shard in this process, with one replica. See shard.ts for the contract.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { millisOf, type HybridClock, type Timestamp } from '../clock/hybrid-clock.ts'
import type { SearchLimits } from '../index/host/index-client.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../index/kinds/index-questions.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import type { Journal } from '../journal/journal.ts'
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
import { versionOf, type DocumentRecord } from './format/document-record.ts'
import { HolderReader } from './holder-reader.ts'
import type { KeyRange } from './key-range.ts'
import type { Hold } from './lock-table.ts'
import { ProposedCommand } from './apply/proposed-command.ts'
import { PushAnswers } from './push-answers.ts'
import { ReleaseWaiters } from './release-waiters.ts'
import { hasNoDocument, mergeRows, scanSnapshot, type OverlayRow } from './shard-scan.ts'
import { ShardIndexes, type IndexParts } from './following/shard-indexes.ts'
import type { TableSettings } from './table-settings.ts'
import { replayLog } from './replay.ts'
import type { ProposalFate, ProposalOptions } from './proposal.ts'
import { ShardLog, type LogBacklog } from './shard-log.ts'
import { ShardState } from './shard-state.ts'
import type {
  IndexHealth,
  IndexStatus,
  PreparedInOrder,
  Push,
  ResolveOptions,
  ScanOptions,
  ScanRow,
  Shard,
  ShardRouter,
  ShardState as ShardHealth,
  ShardStats,
  UnfinishedTransaction,
} from './shard.ts'
import type { ShardId } from './shard-id.ts'
import type { TransactionId } from './transaction-id.ts'
import { isVisible } from './visibility.ts'

export interface LocalShardOptions {
  readonly id: ShardId
  readonly range: KeyRange
  /** Its own: closed with the shard. What it lacks, the journal has. */
  readonly store: KvStore
  readonly journal: Journal
  /** Refuses with DISK_FULL what the disk has no room for. */
  readonly admit?: ((bytes: number) => void) | undefined
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly router: ShardRouter
  readonly settings: TableSettings
  /** Absent: the shard has no indexes. */
  readonly indexes?: IndexParts | undefined
}

export class LocalShard implements Shard, AsyncDisposable {
  readonly id: ShardId
  readonly range: KeyRange
  readonly store: KvStore
  readonly #options: LocalShardOptions
  readonly #state: ShardState
  readonly #log: ShardLog
  readonly #waiters: ReleaseWaiters
  readonly #holders: HolderReader
  readonly #pushes: PushAnswers
  readonly #indexes: ShardIndexes | undefined
  #trouble: ServiceError | undefined
  #sealed = false
  #closed: Promise<void> | undefined

  private constructor(options: LocalShardOptions, state: ShardState, waiters: ReleaseWaiters) {
    this.id = options.id
    this.range = options.range
    this.store = options.store
    this.#options = options
    this.#state = state
    this.#waiters = waiters
    const { id, journal, indexes, clock, hybridClock, settings, router } = options
    const admit = options.admit ?? (() => undefined)
    this.#log = new ShardLog({ id, state, journal, clock, admit })
    this.#holders = new HolderReader({ state, router, clock, hybridClock })
    this.#pushes = new PushAnswers({
      state,
      clock,
      hybridClock,
      settled: () => this.#log.durable(),
      propose: (command) => this.#propose(command),
    })
    this.#indexes = indexes && new ShardIndexes(this, indexes, { clock, settings })
  }

  static async open(options: LocalShardOptions): Promise<LocalShard> {
    const waiters = new ReleaseWaiters(options.clock)
    const { id, store, journal, hybridClock, clock, settings } = options
    const state = new ShardState({
      id,
      store,
      hybridClock,
      clock,
      settings,
      onReleased: (ids) => waiters.wake(ids),
    })
    const from = state.storedPosition()
    if (from.crc !== 0 && journal.isNew) throw lostJournalError()
    await replayLog(store, from, journal.entries(id, from.sequence))
    await state.rebuild()
    const shard = new LocalShard(options, state, waiters)
    journal.register(id, { flush: () => shard.#flush() }, from.sequence)
    return shard
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
    await this.#indexes?.set(settings)
  }

  /** Resolves when everything applied up to now is in the store, or was refused. */
  async settled(): Promise<void> {
    await this.#log.settled()
  }

  /** The newest log entry that nothing takes back. */
  get committedSequence(): number {
    return this.#state.durableSequence
  }

  /** The newest log entry whose effects are in the store. */
  get appliedSequence(): number {
    return this.#state.appliedSequence
  }

  onApplied(listener: () => void): () => void {
    return this.#state.onApplied(listener)
  }

  /** The log entries above this one are still needed by an index. */
  get indexedUpTo(): number {
    return this.#indexes?.neededAbove ?? Infinity
  }

  async search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: SearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    return (await this.#keptIndexes().get(index)).search(request, limits)
  }

  indexHealth(): readonly IndexHealth[] {
    return this.#indexes?.health() ?? []
  }

  async indexStatus(index: string): Promise<IndexStatus> {
    return (await this.#keptIndexes().get(index)).status()
  }

  async waitForIndexes({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    if (this.#indexes === undefined) return
    const sequence = this.committedSequence
    this.#log.hurry() // the indexes read the store
    await this.#indexes.waitFor(sequence, signal)
  }

  #keptIndexes(): ShardIndexes {
    if (this.#indexes !== undefined) return this.#indexes
    throw new ServiceError('UNAVAILABLE', 'this node keeps no indexes')
  }

  read(key: Buffer): DocumentRecord | undefined | Promise<DocumentRecord | undefined> {
    const hold = this.#state.memory.locks.writer(key)
    return hold === undefined ? this.#readStored(key) : this.#readHeld(key, hold)
  }

  #readStored(key: Buffer): DocumentRecord | undefined {
    const record = this.#state.overlay.visible(key)
    if (record === undefined) return undefined
    return isVisible(record, this.ttl, this.#nowMs()) ? record : undefined
  }

  async #readHeld(key: Buffer, hold: Hold): Promise<DocumentRecord | undefined> {
    const found = await this.#holders.recordBehind(hold)
    return found.kind === 'decided' ? found.record : this.#readStored(key)
  }

  async scan({ range, at, signal }: ScanOptions): Promise<AsyncIterable<readonly ScanRow[]>> {
    this.#options.hybridClock.observe(at)
    // From here on whatever is stamped is above `at`: what is not held now and can be seen at `at`
    // has been applied, and will be in the snapshot.
    const holds = this.#holders.holdsAt(range, at)
    const unapplied = await this.#unappliedRows(range, at)
    const snapshot = this.store.snapshot()
    try {
      const overlay = mergeRows(unapplied, await this.#holders.overlay(holds, at))
      return scanSnapshot({ snapshot, range, at, signal, overlay, ttl: this.ttl })
    } catch (error) {
      await snapshot[Symbol.asyncDispose]()
      throw error
    }
  }

  /**
   * What a scan must lay over the store: nothing as soon as the store holds all that is durable, or
   * what it lacks, while it refuses. Then no newer writes come either.
   */
  async #unappliedRows(range: KeyRange, at: Timestamp): Promise<readonly OverlayRow[]> {
    try {
      await this.#log.settled()
      return []
    } catch (error) {
      if (this.#log.storeTrouble === undefined) throw error
      const rows = this.#state.overlay.durableRows(range)
      // What such a row replaced may be neither here nor in the store.
      if (rows.some(({ record }) => record !== undefined && versionOf(record) > at)) throw error
      const nowMs = millisOf(at)
      return rows.map(({ key, record }) => {
        const isSeen = record !== undefined && isVisible(record, this.ttl, nowMs)
        return { key, record: isSeen ? record : undefined }
      })
    }
  }

  write(command: WriteCommand): Promise<WriteOutcome> {
    if (this.#sealed) return Promise.reject(sealedError())
    if (this.#indexes === undefined) return this.#proposeWrite(command)
    const room = this.#indexes.room()
    return room === undefined
      ? this.#proposeWrite(command)
      : room.then(() => this.#proposeWrite(command))
  }

  async #proposeWrite(command: WriteCommand): Promise<WriteOutcome> {
    const bytes = writeBytes(command)
    const outcome = await this.#propose({ kind: 'write', ...command }, { bytes })
    this.#indexes?.wrote(bytes, this.committedSequence)
    return outcome
  }

  prepare(command: PrepareCommand): Promise<PrepareOutcome> {
    if (this.#sealed) return Promise.reject(sealedError())
    return this.#propose({ kind: 'prepare', ...command }, { bytes: writeBytes(command) })
  }

  isInOrderWith(other: Shard): boolean {
    return other instanceof LocalShard && other.#options.journal === this.#options.journal
  }

  async prepareInOrder(command: PrepareCommand): Promise<PreparedInOrder> {
    if (this.#sealed) throw sealedError()
    const proposed = new ProposedCommand<'prepare'>({ kind: 'prepare', ...command })
    const applied = Promise.withResolvers<ProposalFate>()
    const options = { bytes: writeBytes(command), onApplied: applied.resolve }
    const durable = this.#log.propose(proposed, options)
    durable.catch((error: unknown) => this.#noteTrouble(error)) // its fate says that it is lost
    const fate = await Promise.race([applied.promise, durable])
    const outcome = must(proposed.outcome, 'the outcome of an applied command').value
    if (outcome.kind === 'prepared') return { outcome, fate: fate ?? undefined }
    await durable // a refusal may rest on what is not durable yet
    return { outcome, fate: undefined }
  }

  decide(command: DecideCommand, after?: readonly ProposalFate[]): Promise<Decision> {
    const options = after === undefined ? {} : { after }
    return this.#propose({ kind: 'decide', ...command }, options)
  }

  async resolve(command: ResolveCommand, options: ResolveOptions = {}): Promise<void> {
    const { decision } = command
    // Decided is decided: a clock that is behind must not keep the keys held.
    if (decision.state === 'committed') this.#options.hybridClock.observeOwn(decision.commitTs)
    const { isAwaited = true, onReleased } = options
    const onApplied = onReleased && (() => onReleased())
    await this.#propose(
      { kind: 'resolve', ...command },
      { isAwaited, ...(onApplied && { onApplied }) },
    )
  }

  async forget(transactionId: TransactionId, anchor: Buffer): Promise<void> {
    await this.#propose({ kind: 'forget', transactionId, anchor })
  }

  push(push: Push): Promise<TransactionStatus> {
    return this.#pushes.answer(push)
  }

  hurry(): void {
    this.#log.hurry()
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

  /** What waits here, and the transactions whose record lies here. */
  get load(): LogBacklog & { readonly transactionRecords: number } {
    return { ...this.#log.backlog, transactionRecords: this.#state.memory.live.size }
  }

  /** For people. */
  get tableName(): string {
    return this.#state.settings.tableName
  }

  async stats(): Promise<ShardStats> {
    const { store, ttl } = this
    const diskBytes = await store.approximateBytes({})
    return { diskBytes, empty: await hasNoDocument(store, { ttl, nowMs: this.#nowMs() }) }
  }

  state(): ShardHealth {
    const trouble = this.#log.storeTrouble ?? this.#trouble
    if (trouble === undefined) return { kind: 'serving' }
    const kind = trouble.code === 'DISK_FULL' ? 'read_only' : 'failed'
    return { kind, reason: trouble.message }
  }

  /** For the shard's own housekeeping, which reads the store: answers when that shows the outcome. */
  async housekeep<Kind extends 'expire' | 'retime' | 'collect'>(
    command: Command<Kind>,
  ): Promise<OutcomeOf[Kind]> {
    const outcome = await this.#propose(command)
    await this.settled()
    return outcome
  }

  /**
   * The table is being dropped: from now on nothing begins here, while what has begun can still end.
   * Resolves when every proposal of before has been answered.
   */
  async seal(): Promise<void> {
    this.#sealed = true
    await this.#log.idle()
  }

  /**
   * Answers what was proposed and flushes the store, so that the next start replays nothing. With
   * `drop` the shard goes for good, and the journal need not keep its entries.
   */
  async close(entries: 'keep' | 'drop' = 'keep'): Promise<void> {
    this.#closed ??= this.#close(entries)
    await this.#closed
  }

  async #close(entries: 'keep' | 'drop'): Promise<void> {
    // The indexes take in what the store has: then the next start replays nothing for them either.
    await this.settled().catch(() => undefined)
    await this.#indexes?.close({ flush: !this.#sealed })
    await this.#log.close()
    const { id, journal } = this.#options
    if (entries === 'keep') {
      // Where the store refuses, the journal still has everything.
      await this.#flush().then(
        (sequence) => journal.flushed(id, sequence),
        () => undefined,
      )
    }
    journal.unregister(id, entries)
    await this.store.close()
  }

  /** Makes the store durable; answers up to which log entry it is. */
  async #flush(): Promise<number> {
    await this.#log.applied()
    const sequence = this.appliedSequence
    await this.store.flush()
    return sequence
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #propose<Kind extends CommandKind>(
    command: Command<Kind>,
    options: Partial<ProposalOptions> = {},
  ): Promise<OutcomeOf[Kind]> {
    try {
      const proposed = new ProposedCommand(command)
      await this.#log.propose(proposed, { bytes: COMMAND_BYTES, ...options })
      this.#trouble = undefined
      return must(proposed.outcome, 'the outcome of an applied command').value
    } catch (error) {
      this.#noteTrouble(error)
      throw error
    }
  }

  #noteTrouble(error: unknown): void {
    if (isServiceError(error) && isTrouble(error)) this.#trouble = error
  }

  /** Expiry is judged by hybrid time everywhere, so that a lookup and a commit's check agree. */
  #nowMs(): number {
    return this.ttl === undefined ? 0 : millisOf(this.#options.hybridClock.readPoint())
  }

  #idleMs(sinceMs: number): number {
    return this.#options.clock.monotonicMs() - sinceMs
  }
}

/** The store was written from a journal, which is never empty then. */
function lostJournalError(): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    'the journal of the data directory is gone, and with it what the shards acknowledged last; ' +
      'bring it back, or restore the data directory from a backup or a replica',
  )
}

function sealedError(): ServiceError {
  return new ServiceError('NOT_FOUND', 'the table was dropped; create it first')
}

function isTrouble({ code }: ServiceError): boolean {
  return code === 'DISK_FULL' || code === 'CORRUPTION'
}
