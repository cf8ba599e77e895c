// A shard in this process, with one replica. See shard.ts for the contract.

import { must } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { unlessAborted } from '../../lib/unless-aborted.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../index/kinds/index-questions.ts'
import type { IndexClient } from '../index/host/index-client.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import type { KvStore } from '../storage/kv-store.ts'
import type {
  DecideCommand,
  Decision,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from './command/command.ts'
import { writeBytes } from './command/command.ts'
import { ProposedCommand } from './apply/proposed-command.ts'
import type { DocumentRecord } from './format/document-record.ts'
import { progressOf, totalBehind } from './following/documents-behind.ts'
import type {
  PlacedAnswer,
  PositionLimits,
  SearchFromLimits,
  BehindHearer,
  ShardSearchLimits,
  ToldPosition,
} from './following/index-position.ts'
import type { IndexVersions } from './following/index-versions.ts'
import type { ShardIndexes } from './following/shard-indexes.ts'
import type { KeyRange } from './command/key-range.ts'
import { LedShard } from './led-shard.ts'
import type { ProposalFate } from './proposal.ts'
import { PushResponder } from './push-responder.ts'
import { notLeader } from '../replication/shell/replicated-log.ts'
import type { ReplicatedReplica } from './replicated-replica.ts'
import { Replica, type ReplicaOptions } from './replica.ts'
import { snapshotReplicaOf } from './replica-snapshot.ts'
import { assertKept, ClosedReads } from './closed-reads.ts'
import { historyGone } from './shard-scan.ts'
import { ShardReads } from './shard-reads.ts'
import type {
  DatedRecord,
  ReadAtOptions,
  ReplicaSearchLimits,
  ShardReplica,
} from './shard-replica.ts'
import type { IndexStatus, IndexStatusOptions } from './following/index-health.ts'
import type {
  ArtifactsAsked,
  CallOptions,
  DecideOptions,
  FoundArtifacts,
  HistoryPin,
  PreparedInOrder,
  Push,
  ResolveOptions,
  ScanOptions,
  ScanRow,
  Shard,
  ShardCondition,
  ShardScanOptions,
  ShardStats,
} from './shard.ts'
import type { ShardId } from './shard-id.ts'
import type { TransactionId } from './command/transaction-id.ts'

/**
 * Answers from the replica in this process: as the shard while the replica leads, as one of its replicas at
 * any time.
 */
export class LocalShard implements Shard, ShardReplica, AsyncDisposable {
  readonly id: ShardId
  readonly range: KeyRange
  /** The same shard with the operations of its leader. */
  readonly led: LedShard
  readonly #replica: Replica
  readonly #reads: ShardReads
  readonly #closedReads: ClosedReads
  readonly #responder: PushResponder
  readonly #indexes: ShardIndexes | undefined

  private constructor(replica: Replica) {
    const { id, range, clock, hybridClock } = replica.options
    this.id = id
    this.range = range
    this.led = new LedShard(this, replica)
    this.#replica = replica
    this.#reads = new ShardReads(replica)
    this.#closedReads = new ClosedReads(replica)
    this.#responder = new PushResponder({
      range,
      state: replica.state,
      clock,
      hybridClock,
      settled: () => replica.log.committed(),
      propose: (command) => replica.propose(command),
    })
    this.#indexes = replica.indexes
  }

  static async open(options: ReplicaOptions): Promise<LocalShard> {
    return new LocalShard(await Replica.open(options))
  }

  /** Shards over one journal share its order, unless other replicas have a say in what is committed. */
  get durableOrder(): object | undefined {
    return this.replicated === undefined ? this.#replica.options.journal : undefined
  }

  /** What a copy of this replica for another node takes. */
  get copied(): ReturnType<typeof snapshotReplicaOf> {
    return snapshotReplicaOf(this.#replica)
  }

  /** The replicated log below the shard, which needs messages and ticks. Undefined with one replica. */
  get replicated(): ReplicatedReplica | undefined {
    return this.#replica.replicated
  }

  get ttl(): TtlPolicy | undefined {
    return this.#replica.ttl
  }

  get store(): KvStore {
    return this.#replica.store
  }

  /** The newest log entry that nothing takes back. */
  get committedSequence(): number {
    return this.#replica.committedSequence
  }

  /** The newest log entry whose effects are in the store. */
  get appliedSequence(): number {
    return this.#replica.appliedSequence
  }

  onApplied(listener: () => void): () => void {
    return this.#replica.onApplied(listener)
  }

  /** Resolves when everything applied up to now is in the store, or was refused. */
  settled(): Promise<void> {
    return this.#replica.log.settled()
  }

  async search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    // The index of a leader that was deposed lacks what its successor has acknowledged.
    const right = this.replicated?.mayRead()
    if (right instanceof Promise) await patiently(right, limits)
    const kept = await this.#keptIndexes().get(index)
    const onAsk = this.#tellsBehind(kept, limits)
    return kept.search(request, { ...limits, atLeast: this.#promised, onAsk })
  }

  indexAtOnce(index: string, kind: QueryableKind, limits: BehindHearer): IndexClient | undefined {
    const right = this.replicated?.mayRead() ?? true
    if (right !== true) right.catch(() => undefined) // `search` asks again, and hears of it
    const kept = right === true ? this.#indexes?.known(index) : undefined
    const client = kept?.atOnce(kind, this.#promised)
    if (kept !== undefined && client !== undefined) this.#tellsBehind(kept, limits)?.()
    return client
  }

  /** What is missing is counted when the index is asked: what it takes meanwhile the answer may show. */
  #tellsBehind(kept: IndexVersions, { onBehind }: BehindHearer): (() => void) | undefined {
    return (
      onBehind &&
      (() => {
        const behind = totalBehind(this.#replica.behind(kept))
        if (behind > 0) onBehind(behind)
      })
    )
  }

  /** What searches of earlier leaders may have shown, and `waitForIndexes` there promised (RP3). */
  get #promised(): number {
    return this.replicated?.servedFrom ?? 0
  }

  async indexPosition(
    index: string,
    { atLeast, ...limits }: PositionLimits,
  ): Promise<ToldPosition> {
    const right = this.replicated?.mayRead()
    if (right instanceof Promise) await patiently(right, limits)
    const kept = await this.#keptIndexes().get(index)
    if (!kept.hasReached(atLeast)) this.#replica.log.hurry() // the indexes read the store
    const { version, sequence } = await kept.position({ ...limits, atLeast })
    this.replicated?.assertServing()
    const behind = totalBehind(this.#replica.behind(kept))
    return { version, sequence: Math.max(sequence, this.#promised), behind }
  }

  async searchHere<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    { atLeast, ...limits }: ReplicaSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    const kept = await this.#keptIndexes().get(index)
    if (kept.hasReached(atLeast)) {
      const onAsk = this.#tellsBehind(kept, limits)
      return kept.search(request, { ...limits, atLeast, onAsk })
    }
    throw new ServiceError('UNAVAILABLE', `the index "${index}" of this replica is behind`)
  }

  async searchFrom<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: SearchFromLimits,
  ): Promise<PlacedAnswer<IndexAnswer<Kind, Name>>> {
    const kept = await this.#keptIndexes().get(index)
    return kept.searchFrom(request, limits)
  }

  async indexStatus(
    index: string,
    { parkedMax = 0 }: IndexStatusOptions = {},
  ): Promise<IndexStatus> {
    const kept = await this.#keptIndexes().get(index)
    const enricher = this.#replica.enrichers.get(kept.definition.id)
    const enrichment = await enricher?.status(parkedMax)
    return this.#wholeStatus(kept, await kept.status(), enrichment)
  }

  #wholeStatus(
    kept: IndexVersions,
    status: Omit<IndexStatus, 'enrichment' | 'behind'>,
    enrichment: IndexStatus['enrichment'],
  ): IndexStatus {
    const { documentsMax, enrichers } = this.#replica
    const { documentsWalked = 0, walkedThrough = 0 } = enrichers.get(kept.definition.id) ?? {}
    const behind = this.#replica.behind(kept)
    const built = Math.min(status.backfillProgress, enrichment?.progress ?? 1)
    // The index has not yet taken what a walk of the enricher has made.
    const isWalking = enrichment?.rebuilding === true || !kept.hasTaken(walkedThrough)
    return {
      ...status,
      // What the index itself is built from is made by the walk, so the greater count is of both.
      backfillItemsProcessed: Math.max(status.backfillItemsProcessed, documentsWalked),
      backfillProgress: progressOf(behind, { built, documentsMax }),
      rebuilding: status.rebuilding || isWalking,
      enrichment,
      behind,
    }
  }

  async waitForIndexes({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    if (this.#indexes === undefined) return
    const sequence = this.committedSequence
    this.#replica.log.hurry() // the indexes read the store
    await this.#indexes.waitFor(sequence, signal)
  }

  #keptIndexes(): ShardIndexes {
    if (this.#indexes !== undefined) return this.#indexes
    throw new ServiceError('UNAVAILABLE', 'this node keeps no indexes, so it cannot search')
  }

  read(
    key: Buffer,
    options?: CallOptions,
  ): DocumentRecord | undefined | Promise<DocumentRecord | undefined> {
    const right = this.replicated?.mayRead() ?? true
    const found = right === true ? this.#reads.read(key) : this.#readAfter(right, key)
    return found instanceof Promise ? patiently(this.#inOneLeadership(found), options) : found
  }

  /**
   * What was waited for counts if this replica led all the time. The end of a leadership drops resolutions that
   * were shown and not committed, so a reader would see less than readers before it.
   */
  async #inOneLeadership<Answer>(waited: Promise<Answer>): Promise<Answer> {
    const { replicated } = this
    if (replicated === undefined) return waited
    const epoch = replicated.servedEpoch
    const answer = await waited
    if (replicated.servedEpoch !== epoch) throw notLeader()
    return answer
  }

  async #readAfter(right: Promise<void>, key: Buffer): Promise<DocumentRecord | undefined> {
    await right
    return this.#reads.read(key)
  }

  async artifacts(
    asked: ArtifactsAsked,
    options?: CallOptions,
  ): Promise<readonly FoundArtifacts[]> {
    await this.replicated?.mayRead()
    return patiently(this.#inOneLeadership(this.#reads.artifacts(asked)), options)
  }

  moment(range: KeyRange, options?: CallOptions): Timestamp | Promise<Timestamp> {
    const right = this.replicated?.mayRead() ?? true
    const found =
      right === true ? this.#reads.moment(range) : right.then(() => this.#reads.moment(range))
    return found instanceof Promise ? patiently(this.#inOneLeadership(found), options) : found
  }

  async scan({ range, signal, ...asked }: ShardScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    const at = asked.at ?? (await this.moment(range, { signal }))
    await this.replicated?.mayReadAt(at)
    if (asked.at === undefined) asked.onMoment?.(at)
    return this.#reads.scan({ range, at, signal })
  }

  async pinHistory(pin: HistoryPin, options?: CallOptions): Promise<void> {
    options?.signal?.throwIfAborted()
    return patiently(this.#inOneLeadership(this.#pinHistory(pin)), options)
  }

  async #pinHistory({ reader, at }: HistoryPin): Promise<void> {
    await this.replicated?.mayRead()
    await this.#replica.log.settled() // the mark of what earlier leaders have collected is in the store
    assertKept(this.#replica.store, at)
    if (!this.#replica.pins.pin(reader, at)) throw historyGone()
  }

  async closedTime(options?: CallOptions): Promise<Timestamp> {
    options?.signal?.throwIfAborted()
    return this.#closedReads.closedTime()
  }

  async readAt(key: Buffer, options: ReadAtOptions = {}): Promise<DatedRecord> {
    options.signal?.throwIfAborted()
    return patiently(this.#closedReads.readAt(key, options), options)
  }

  scanAt(options: ScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    return this.#closedReads.scanAt(options)
  }

  write(command: WriteCommand, options?: CallOptions): Promise<WriteOutcome> {
    const refusal = this.#refusalOf(options)
    if (refusal !== undefined) return refusal
    const room = this.#indexes?.room()
    const written =
      room === undefined
        ? this.#proposeWrite(command)
        : room.then(() => this.#refusalOf(options) ?? this.#proposeWrite(command))
    return patiently(written, options)
  }

  async #proposeWrite(command: WriteCommand): Promise<WriteOutcome> {
    const bytes = writeBytes(command)
    const outcome = await this.#replica.propose({ kind: 'write', ...command }, { bytes })
    this.#indexes?.wrote(bytes, this.committedSequence)
    return outcome
  }

  prepare(command: PrepareCommand, options?: CallOptions): Promise<PrepareOutcome> {
    const refusal = this.#refusalOf(options)
    if (refusal !== undefined) return refusal
    const proposed = { kind: 'prepare', ...command } as const
    return patiently(this.#replica.propose(proposed, { bytes: writeBytes(command) }), options)
  }

  prepareInOrder(command: PrepareCommand, options?: CallOptions): Promise<PreparedInOrder> {
    return this.#refusalOf(options) ?? patiently(this.#prepareInOrder(command), options)
  }

  async #prepareInOrder(command: PrepareCommand): Promise<PreparedInOrder> {
    const replica = this.#replica
    if (replica.replicated !== undefined) {
      return { outcome: await this.prepare(command), fate: undefined }
    }
    const proposed = new ProposedCommand<'prepare'>(
      { kind: 'prepare', ...command },
      replica.state.settings,
    )
    const applied = Promise.withResolvers<ProposalFate>()
    const options = { bytes: writeBytes(command), onApplied: applied.resolve }
    const durable = replica.log.propose(proposed, options)
    durable.catch((error: unknown) => replica.noteTrouble(error)) // `fate.isLost` tells the caller
    const fate = await Promise.race([applied.promise, durable])
    const outcome = must(proposed.outcome, 'the outcome of an applied command').value
    if (outcome.kind === 'prepared') return { outcome, fate: fate ?? undefined }
    await durable // the refusal may rely on entries that are not durable yet
    return { outcome, fate: undefined }
  }

  /** The rejection of a caller that has left, or of any write after the seal; undefined otherwise. */
  #refusalOf(options: CallOptions | undefined): Promise<never> | undefined {
    if (options?.signal?.aborted === true) return Promise.reject(options.signal.reason)
    const { sealedError } = this.#replica
    return sealedError && Promise.reject(sealedError)
  }

  async decide(command: DecideCommand, options: DecideOptions = {}): Promise<Decision> {
    options.signal?.throwIfAborted()
    const { after } = options
    const proposed = { kind: 'decide', ...command } as const
    return patiently(this.#replica.propose(proposed, after === undefined ? {} : { after }), options)
  }

  async resolve(command: ResolveCommand, options: ResolveOptions = {}): Promise<void> {
    const { decision } = command
    const { hybridClock } = this.#replica.options
    // The transaction is decided, so a clock that is behind must not keep its keys held.
    if (decision.state === 'committed') hybridClock.observeOwn(decision.commitTs)
    const { isAwaited = true, onReleased } = options
    const onApplied = onReleased && (() => onReleased())
    await this.#replica.propose(
      { kind: 'resolve', ...command },
      { isAwaited, ...(onApplied && { onApplied }) },
    )
  }

  async forget(transactionId: TransactionId, anchor: Buffer): Promise<void> {
    await this.#replica.propose({ kind: 'forget', transactionId, anchor })
  }

  async push(push: Push, options?: CallOptions): Promise<TransactionStatus> {
    options?.signal?.throwIfAborted()
    this.replicated?.assertServing()
    return patiently(this.#answerPush(push), options)
  }

  /**
   * A decision is final. The answer that there is none needs the right to read, because another replica may lead by
   * now, and promises that a commit lands above the reader's time, also under a later leader.
   */
  async #answerPush(push: Push): Promise<TransactionStatus> {
    const status = await this.#inOneLeadership(this.#responder.answer(push))
    if (status.state === 'pending') await this.replicated?.mayReadAt(push.above)
    return status
  }

  hurry(): void {
    this.#replica.log.hurry()
  }

  async heartbeat(transactionId: TransactionId, options?: CallOptions): Promise<void> {
    options?.signal?.throwIfAborted()
    this.replicated?.assertServing()
    const live = this.#replica.state.memory.live.get(transactionId)
    if (live !== undefined) live.heardAtMs = this.#replica.options.clock.monotonicMs()
  }

  async waitForRelease(
    transactionId: TransactionId,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    this.replicated?.assertServing()
    const { state, waiters } = this.#replica
    if (state.memory.locks.heldBy(transactionId).length === 0) return
    await waiters.wait(transactionId, options)
  }

  stats(options?: CallOptions): Promise<ShardStats> {
    return patiently(this.#reads.stats(), options)
  }

  async state(options?: CallOptions): Promise<ShardCondition> {
    options?.signal?.throwIfAborted()
    return this.#replica.condition()
  }

  /** See Replica.close. */
  close(entries: 'keep' | 'drop' = 'keep'): Promise<void> {
    return this.#replica.close(entries)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** For as long as the caller wants to wait. */
function patiently<Answer>(
  answer: Promise<Answer>,
  options: CallOptions | undefined,
): Promise<Answer> {
  return options?.signal === undefined ? answer : unlessAborted(answer, options.signal)
}
