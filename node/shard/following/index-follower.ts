// Keeps one index of one shard in step with the shard's log.
//
//            ┌──────────── lost, damaged, log too short ───────────┐
//            ▼                                                     │
//   start ─► opening ─► building ──walked the whole table──► serving
//            ▲   └──the log continues its checkpoint──────────►│   │
//            └───────────── after a pause ── failed ◄──────────┴───┘ any other failure
// The loop pulls: it reads the touched keys from the log, reads their newest documents, and sends
// them to the worker, one step after the other. While it builds, steps of the log and pages of the
// table alternate. A clean stop keeps what was built (saved-backfill.ts), and the next opening continues there.
//
// Invariants:
//   X1  An index that has applied log entry n shows every document at least as new as at entry n.
//   X2  The checkpoint of the index is 0 until the whole table has been walked. A power failure
//       never takes an entry below the checkpoint back, because the store holds only durable
//       entries.
//   X3  Searches never show less than before, also after the end of a worker or of the process: what an earlier
//       one may have promised (`promised`) has to be applied first.

import type { FollowedShard } from './followed-shard.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { IndexClient } from '../../index/host/index-client.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { SchemaSource } from '../../index/host/index-engine.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { IndexActivity } from './index-health.ts'
import { Backfill } from './backfill.ts'
import { BuildNotices, type IndexPlace } from './build-notices.ts'
import { readChanges, readTouchedKeys } from './document-changes.ts'
import { DocumentSender } from './document-sender.ts'
import { untakenBy } from './documents-behind.ts'
import { extendTally } from './extend-tally.ts'
import { FlushSchedule } from './flush-schedule.ts'
import type { FollowerState } from './follower-state.ts'
import type { IndexEvents } from './index-events.ts'
import { sourceOf, type FindChunked, type IndexSource } from './index-source.ts'
import { LearntFields } from './learnt-fields.ts'
import { openIndex, resetIndex } from './open-index.ts'
import { saveBackfill, type SavedBackfill } from './saved-backfill.ts'
import { SequenceWaiters } from './sequence-waiters.ts'
import { SetAsideDocuments } from './set-aside-documents.ts'
import type { TableFields } from './table-fields.ts'

/** If opening takes more than two seconds, the follower logs it, and refuses the searches that have waited for it. */
const OPENING_MS_MAX = 2000
const RETRY_MS = 250
const RETRY_MS_MAX = 30_000
/** At a clean stop the index is brought up to date, as long as that takes no more steps. */
const CLOSING_STEPS_MAX = 64

/** The index, the shard that it follows, and the parts that the follower works with. */
export interface IndexFollowerOptions {
  readonly shard: FollowedShard
  readonly fields: TableFields
  readonly index: IndexClient
  readonly definition: IndexDefinition
  readonly chunked: FindChunked
  readonly place: IndexPlace
  /** Undefined: in memory only. */
  readonly directory: string | undefined
  readonly source: SchemaSource
  readonly clock: Clock
  readonly log: Log
  readonly events: IndexEvents
}

/**
 * Brings one index up to date with its shard and keeps it so (X1, X2) until it is closed. It never
 * fails: an error becomes its state, and the work is tried again.
 */
export class IndexFollower {
  readonly index: IndexClient
  readonly #with: IndexFollowerOptions
  readonly #made: IndexSource
  readonly #waiters = new SequenceWaiters()
  readonly #stop = new AbortController()
  readonly #fields: LearntFields
  readonly #setAside: SetAsideDocuments
  readonly #sender: DocumentSender
  readonly #notices: BuildNotices
  readonly #flushes: FlushSchedule
  #source: SchemaSource
  #state: FollowerState = { kind: 'opening', reason: undefined }
  #serving = Promise.withResolvers<void>()
  readonly #opened = Promise.withResolvers<void>()
  #applied = 0
  #promised: number
  #shown = 0
  #flushed = 0
  #openingSinceMs = Infinity
  #failures = 0
  /** The error that the worker reported about the index outside of a call. */
  #broken: ServiceError | undefined
  #wake: (() => void) | undefined
  #running: Promise<void> | undefined
  #flushesAtEnd = false

  constructor(options: IndexFollowerOptions) {
    const { index, clock, place } = options
    this.#with = options
    this.#made = sourceOf(options.shard, options.definition, options.chunked)
    this.index = index
    this.#promised = options.shard.appliedSequence
    this.#source = options.source
    this.#fields = new LearntFields({ ...options, signal: this.#stop.signal })
    this.#setAside = new SetAsideDocuments(place, options)
    this.#sender = new DocumentSender({ index, fields: this.#fields, setAside: this.#setAside })
    this.#notices = new BuildNotices(place, { ...options, kind: options.definition.kind })
    this.#flushes = new FlushSchedule(clock)
  }

  /** Documents that the index leaves out, because its worker hangs or ends at them. */
  get setAsideCount(): number {
    return this.#setAside.count
  }

  /** The activity of the index, told without asking the worker. */
  get activity(): IndexActivity {
    const state = this.#state
    if (state.kind === 'failed') return { kind: 'failed', reason: state.error }
    if (state.kind === 'building' && (state.backfill.hasDocuments || this.#opensSlowly)) {
      return { kind: 'building', reason: state.backfill.reason }
    }
    if (state.kind === 'opening' && this.#opensSlowly) {
      return { kind: 'building', reason: state.reason }
    }
    return { kind: this.#notices.isCatchingUp ? 'catching_up' : 'none', reason: undefined }
  }

  get #opensSlowly(): boolean {
    return this.#with.clock.monotonicMs() - this.#openingSinceMs > OPENING_MS_MAX
  }

  /** The log entries of the shard that the index has not applied yet. */
  get entriesBehind(): number {
    return Math.max(0, this.#with.shard.committedSequence - this.#applied)
  }

  /** The documents that the index has not taken (DB1). */
  get untaken(): number {
    const { tallied } = this.#made
    return untakenBy(this.#with.shard, { state: this.#state, applied: this.#applied, tallied })
  }

  get state(): FollowerState {
    return this.#state
  }

  /** Resolves when the index answers searches with all writes before its start. */
  get serving(): Promise<void> {
    return this.#serving.promise
  }

  /** Resolves when the index was opened for the first time, or failed to. */
  get opened(): Promise<void> {
    return this.#opened.promise
  }

  /** Everything committed up to this log entry is searchable, or will be when the index is built. */
  get applied(): number {
    return this.#applied
  }

  /** An index that is behind this log entry has been further before, and may not answer yet (X3). */
  get promised(): number {
    return Math.max(this.#promised, this.#applied)
  }

  /** No answer so far has shown anything above this log entry: documents are read later than their keys. */
  get shown(): number {
    return this.#shown
  }

  /** The log entries above this one are still needed. */
  get neededAbove(): number {
    const restartsHere = this.#state.kind === 'serving' && this.#with.directory !== undefined
    return restartsHere ? this.#flushed : this.#applied
  }

  start(): void {
    const wake = (): void => this.#wake?.()
    const unlisten = [this.#with.shard.onApplied(wake), this.#with.fields.onGrown(wake)]
    this.index.onBroken((error) => {
      this.#broken = error
      this.#wake?.()
    })
    this.#running = this.#run().finally(() => unlisten.forEach((one) => one()))
  }

  /**
   * Resolves when all commits up to this log entry are searchable. Rejects with UNAVAILABLE at the
   * end.
   */
  waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    const isKnown = this.#applied >= sequence && sequence > this.#walkedTo
    return isKnown ? Promise.resolve() : this.#waiters.wait(sequence, signal)
  }

  /** The log entry up to which a running walk sees all commits; -1 without a walk. */
  get #walkedTo(): number {
    if (this.#state.kind === 'opening') return this.#applied
    return this.#state.kind === 'building' ? this.#state.backfill.walkedTo : -1
  }

  /** Sets a schema of the same version. Only later documents are mapped by it. */
  async setSchema(schema: TableSchema | undefined): Promise<void> {
    this.#source = { kind: 'given', schema }
    await this.index.setSchema(schema)
  }

  /**
   * Tells the worker the fields that documents of other shards brought, so that no search misses
   * them.
   */
  learnFields(): Promise<void> {
    return this.#fields.tell()
  }

  /** Whether `learnFields` has nothing to wait for. */
  get knowsFields(): boolean {
    return this.#fields.isTold
  }

  /** Keeps the index answering until another version has taken over, but without any rebuild. */
  retire(): void {
    this.#source = { kind: 'stored' }
  }

  /** Builds the index anew, because something was indexed without a part that nobody will touch again. */
  rebuild(reason: string): void {
    this.#broken = new ServiceError('CORRUPTION', reason)
    this.#wake?.()
  }

  /** Stops following. A flush before that spares the next start a replay. */
  async close({ flush }: { readonly flush: boolean }): Promise<void> {
    await this.#end(flush)
    await this.index.close()
  }

  /** Removes the index from the disk. */
  async destroy(): Promise<void> {
    await this.#end(false)
    await this.index.destroy({ directory: this.#with.directory })
  }

  async #end(flush: boolean): Promise<void> {
    this.#flushesAtEnd = flush
    this.#stop.abort()
    this.#wake?.()
    await this.#running
    this.#opened.resolve()
    this.#waiters.closeAll()
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#follow()
      } catch (error) {
        if (!(await this.#recoverFrom(error))) return
      }
    }
  }

  /** Tries to repair the index; false when the follower gives it up. */
  async #recoverFrom(error: unknown): Promise<boolean> {
    const { log, clock, place, definition } = this.#with
    const message = messageOf(error)
    const isDamaged = isServiceError(error) && error.code === 'CORRUPTION'
    if (this.#stop.signal.aborted) return false
    this.#with.events.failures += 1
    log.warn(`${definition.kind} index failed`, { ...place, error: message })
    this.#notices.forget()
    if (isDamaged && this.#source.kind === 'given') {
      this.#setState({ kind: 'opening', reason: message })
    } else {
      this.#setState({ kind: 'failed', error: message })
      if (isDamaged) return false
    }
    const pauseMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** this.#failures)
    this.#failures += 1
    if (this.#failures > 1) await clock.sleep(pauseMs, this.#stop.signal).catch(() => undefined)
    return true
  }

  async #follow(): Promise<void> {
    await this.#open()
    for (;;) {
      const isBehind = await this.#step()
      if (this.#stop.signal.aborted) return this.#finish(isBehind)
      if (this.#state.kind === 'building') await this.#takeFromTable(this.#state.backfill)
      else if (this.#flushes.isDue) await this.#flush()
      if (!isBehind) await this.#idle()
    }
  }

  /** Takes one step of the log after all fields are known. Returns whether there is more. */
  async #step(): Promise<boolean> {
    if (this.#broken !== undefined) throw this.#broken
    await this.#fields.tell()
    return this.#takeFromLog()
  }

  async #finish(isBehind: boolean): Promise<void> {
    if (!this.#flushesAtEnd) return
    for (let steps = 1; isBehind && steps < CLOSING_STEPS_MAX; steps += 1) {
      isBehind = await this.#step()
    }
    if (this.#state.kind === 'serving') await this.#flush()
    else if (this.#state.kind === 'building') await this.#save(this.#state.backfill)
  }

  /** The checkpoint stays 0 (X2). */
  async #save({ walked, walkedTo, reason }: Backfill): Promise<void> {
    const { directory } = this.#with
    if (directory === undefined || walked === undefined) return
    await this.index.flush(0)
    const { documents } = await this.index.stats()
    await saveBackfill(directory, {
      ...walked,
      walkedTo,
      reason,
      documents,
      applied: this.#applied,
    })
  }

  async #open(): Promise<void> {
    const { shard, clock } = this.#with
    this.#broken = undefined
    this.#promised = this.promised
    this.#openingSinceMs = clock.monotonicMs()
    await this.#fields.load()
    const options = { ...this.#with, fields: this.#fields }
    // An index that was there before and is opened with a reason is damaged.
    const reason = this.#state.kind === 'opening' ? this.#state.reason : undefined
    const opened = await (reason === undefined
      ? openIndex(options, this.#source)
      : resetIndex(options, this.#source, reason))
    if (opened.kind === 'empty') return this.#build(opened.reason)
    const applied = opened.kind === 'partial' ? opened.saved.applied : opened.checkpoint
    await extendTally(shard, applied, clock)
    if (opened.kind === 'partial') return this.#continue(opened.saved)
    this.#applied = opened.checkpoint
    this.#shown = Math.max(this.#shown, shard.committedSequence)
    this.#flushed = opened.checkpoint
    this.#flushes.flushed()
    if (opened.checkpoint < shard.appliedSequence) {
      this.#flushes.changed()
      this.#notices.catchingUp(shard.appliedSequence - opened.checkpoint)
    }
    this.#setState({ kind: 'serving' })
  }

  async #build(reason: string | undefined): Promise<void> {
    // The walk meets all earlier commits, and the log brings all later ones.
    const { shard, clock } = this.#with
    const walkedTo = shard.appliedSequence
    const backfill = new Backfill({ source: this.#made, clock, walkedTo, reason })
    this.#applied = walkedTo
    this.#flushed = 0
    this.#setState({ kind: 'building', backfill })
    await backfill.begin()
    // The build of an empty table ends at once, so it gets no notice.
    if (backfill.hasDocuments) this.#notices.building(reason)
  }

  #continue(saved: SavedBackfill): void {
    const backfill = Backfill.resume({ source: this.#made, clock: this.#with.clock }, saved)
    this.#applied = saved.applied
    this.#flushed = 0
    this.#setState({ kind: 'building', backfill })
    this.#notices.continuing(saved.processed)
  }

  /** Takes one step of the log. Returns whether there is more. */
  async #takeFromLog(): Promise<boolean> {
    const { shard, clock } = this.#with
    const to = shard.appliedSequence
    if (this.#applied >= to) return false
    const run = { from: this.#applied + 1, to }
    const { keys, sequence } = await readTouchedKeys(this.#made, run, clock)
    if (keys.length > 0) {
      for await (const { changes, isLast } of readChanges(this.#made, keys, clock)) {
        const upTo = isLast ? sequence : this.#applied
        this.#flushed = await this.#send(this.#isBuilding ? 0 : upTo, changes)
      }
    }
    this.#applied = sequence
    this.#failures = 0
    this.#flushes.changed()
    this.#waiters.reached({ above: this.#walkedTo, upTo: sequence })
    const isBehind = sequence < shard.appliedSequence
    if (!isBehind) this.#notices.caughtUp()
    return isBehind
  }

  async #takeFromTable(backfill: Backfill): Promise<void> {
    const isMore = await backfill.step(async (changes) => {
      this.#flushed = await this.#send(0, changes)
    })
    if (isMore) {
      await nextTurn()
      return
    }
    await this.#flush()
    this.#failures = 0
    this.#setState({ kind: 'serving' })
    this.#notices.built(backfill.processed)
  }

  #send(upTo: number, changes: Parameters<DocumentSender['send']>[1]): Promise<number> {
    this.#shown = Math.max(this.#shown, this.#with.shard.committedSequence)
    return this.#sender.send(upTo, changes)
  }

  get #isBuilding(): boolean {
    return this.#state.kind === 'building'
  }

  async #flush(): Promise<void> {
    const sequence = this.#applied
    this.#flushes.flushed()
    if (sequence === this.#flushed && this.#state.kind === 'serving') return
    this.#flushed = (await this.index.flush(sequence)).checkpoint
  }

  /** Waits until there is work. */
  async #idle(): Promise<void> {
    const { shard, clock } = this.#with
    if (this.#isBuilding || this.#stop.signal.aborted) return
    if (this.#applied < shard.appliedSequence || this.#broken !== undefined) return
    const woken = Promise.withResolvers<void>()
    const timer = new AbortController()
    this.#wake = woken.resolve
    const { leftMs } = this.#flushes
    if (leftMs !== undefined) {
      void clock.sleep(leftMs, timer.signal).then(woken.resolve, () => undefined)
    }
    await woken.promise
    this.#wake = undefined
    timer.abort()
  }

  #setState(state: FollowerState): void {
    const wasServing = this.#state.kind === 'serving'
    this.#state = state
    if (state.kind !== 'opening') this.#opened.resolve()
    if (state.kind === 'serving') {
      this.#serving.resolve()
      this.#waiters.reached({ above: -1, upTo: this.#applied })
    } else if (wasServing) {
      this.#serving = Promise.withResolvers()
    }
  }
}
