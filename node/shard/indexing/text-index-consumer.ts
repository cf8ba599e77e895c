// Keeps one text index of one shard in step with the shard's log (DESIGN 7).
//
//            ┌──────────── lost, damaged, log too short ───────────┐
//            ▼                                                     │
//   start ─► building ──walked the whole table──► serving ─────────┤
//            ▲                                       │             │
//            └───────────── after a pause ── failed ◄┴── any other failure
//
// The loop pulls: it reads what the log says was touched, takes the newest documents, and hands
// them to the worker, one step after the other; while it builds, steps of the log and pages of the
// table alternate.
//
// Invariants:
//   X1  What has been applied up to log entry n shows every document at least as new as entry n.
//   X2  The checkpoint of the index is 0 until the whole table has been walked. It is never above what
//       a power failure may take back, because the store holds durable entries alone.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { packBatch } from '../../index/text/worker/document-batch.ts'
import type { DocumentChange } from '../../index/text/worker/document-batch.ts'
import type { TableField } from '../../index/text/mapping/table-field.ts'
import type {
  OpenedTextIndex,
  OutdatedTextIndex,
  SchemaSource,
} from '../../index/text/worker/protocol.ts'
import type { RemoteTextIndex } from '../../index/text/worker/remote-text-index.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import {
  readChanges,
  readLastKey,
  readNextDocuments,
  readTouchedKeys,
  type DocumentSource,
} from './document-changes.ts'
import { keyspaceRange } from '../format/keyspace.ts'
import { endOfLog } from '../log-reader.ts'
import type { TextIndexActivity } from '../shard.ts'
import { BuildNotices, type IndexPlace } from './build-notices.ts'
import { SetAsideDocuments } from './set-aside-documents.ts'
import type { TableFields } from './table-fields.ts'
import { SequenceWaiters } from './sequence-waiters.ts'
import type { TextIndexEvents } from './text-index-events.ts'

const FLUSH_PERIOD_MS = 30_000
/** An index that takes longer to open is told of: searches have waited for it so long, and are refused. */
const OPENING_MS_MAX = 2000
const RETRY_MS = 250
const RETRY_MS_MAX = 30_000
/** At a clean stop the index is brought up to date, as long as that takes no more steps. */
const CLOSING_STEPS_MAX = 64

/** What a consumer needs of its shard. */
export interface ConsumedShard extends DocumentSource {
  readonly id: string
  /** The newest log entry that can be read from the store. */
  readonly appliedSequence: number
  onApplied(listener: () => void): () => void
}

export interface TextIndexConsumerOptions {
  readonly shard: ConsumedShard
  readonly fields: TableFields
  readonly index: RemoteTextIndex
  readonly place: IndexPlace
  /** Undefined: in memory only. */
  readonly directory: string | undefined
  readonly source: SchemaSource
  readonly clock: Clock
  readonly log: Log
  readonly events: TextIndexEvents
}

export type TextIndexState =
  | {
      readonly kind: 'building'
      readonly processed: number
      readonly cursor: Buffer | undefined
      /** The table's greatest key when the build began: keys behind it come by the log. */
      readonly last: Buffer | undefined
      /** Why it is built again, if it was there before. */
      readonly reason: string | undefined
    }
  | { readonly kind: 'serving' }
  | { readonly kind: 'failed'; readonly error: string }

type AppliedTo = Awaited<ReturnType<RemoteTextIndex['apply']>>
type Building = Extract<TextIndexState, { readonly kind: 'building' }>

const FRESH: Building = {
  kind: 'building',
  processed: 0,
  cursor: undefined,
  last: undefined,
  reason: undefined,
}

export class TextIndexConsumer {
  readonly index: RemoteTextIndex
  readonly #with: TextIndexConsumerOptions
  readonly #waiters = new SequenceWaiters()
  readonly #stop = new AbortController()
  #source: SchemaSource
  #state: TextIndexState = FRESH
  #serving = Promise.withResolvers<void>()
  #applied = 0
  /** While building: what was committed up to here is met on the walk, and not before. */
  #walkedTo = 0
  #flushed = 0
  #openingSinceMs = Infinity
  #dirtySinceMs: number | undefined
  /** How many of the table's fields the worker has been told. */
  #learnt = 0
  #learning: Promise<void> | undefined
  #failures = 0
  readonly #setAside: SetAsideDocuments
  readonly #notices: BuildNotices
  /** What the worker told about the index while nobody waited for an answer. */
  #broken: ServiceError | undefined
  #wake: (() => void) | undefined
  #running: Promise<void> | undefined
  #flushesAtEnd = false

  constructor(options: TextIndexConsumerOptions) {
    this.#with = options
    this.index = options.index
    this.#source = options.source
    const { log, clock, place, events } = options
    this.#setAside = new SetAsideDocuments(place, { log, events })
    this.#notices = new BuildNotices(place, { log, clock, events })
  }

  /** Documents that the index leaves out, because its worker hangs or ends at them. */
  get setAsideCount(): number {
    return this.#setAside.count
  }

  /** What it is at when it does not simply follow; told without asking the worker. */
  get activity(): TextIndexActivity {
    const state = this.#state
    if (state.kind === 'failed') return { kind: 'failed', reason: state.error }
    if (state.kind === 'building' && (state.last !== undefined || this.#opensSlowly)) {
      return { kind: 'building', reason: state.reason }
    }
    return { kind: this.#notices.isCatchingUp ? 'catching_up' : 'none', reason: undefined }
  }

  get #opensSlowly(): boolean {
    return this.#with.clock.monotonicMs() - this.#openingSinceMs > OPENING_MS_MAX
  }

  /** How many log entries of its shard it has not applied yet. */
  get entriesBehind(): number {
    return Math.max(0, this.#with.shard.appliedSequence - this.#applied)
  }

  get state(): TextIndexState {
    return this.#state
  }

  /** Resolves when the index answers searches with all that was written before it began to. */
  get serving(): Promise<void> {
    return this.#serving.promise
  }

  /** Everything committed up to this log entry is searchable, or will be when the index is built. */
  get applied(): number {
    return this.#applied
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

  waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    const isKnown = this.#applied >= sequence && !this.#isWalkedTo(sequence)
    return isKnown ? Promise.resolve() : this.#waiters.wait(sequence, signal)
  }

  /** For a schema of the same version: only what documents hold from now on is mapped by it. */
  async setSchema(schema: TableSchema | undefined): Promise<void> {
    this.#source = { kind: 'given', schema }
    await this.index.setSchema(schema)
  }

  /** Tells the worker of fields that documents brought elsewhere: no search misses them. */
  async learnFields(): Promise<void> {
    const { known } = this.#with.fields
    const from = this.#learnt
    if (known.length > from) {
      this.#learnt = known.length
      this.#learning = this.index.learn(known.slice(from))
    }
    await this.#learning
  }

  #isWalkedTo(sequence: number): boolean {
    return this.#state.kind === 'building' && sequence <= this.#walkedTo
  }

  /** The index answers until another version has taken over; it is not worth a rebuild any more. */
  retire(): void {
    this.#source = { kind: 'stored' }
  }

  /** Stops following; a flush on the way spares the next start a replay. */
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

  /** False when the index is given up. */
  async #recoverFrom(error: unknown): Promise<boolean> {
    const { log, clock, place } = this.#with
    const message = messageOf(error)
    const isDamaged = isServiceError(error) && error.code === 'CORRUPTION'
    if (this.#stop.signal.aborted) return false
    this.#with.events.failures += 1
    log.warn('text index failed', { ...place, error: message })
    this.#notices.forget()
    if (isDamaged && this.#source.kind === 'given') {
      this.#setState({ ...FRESH, reason: message })
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
    let closingSteps = 0
    for (;;) {
      this.#assertWhole()
      await this.learnFields()
      const isBehind = await this.#takeFromLog()
      if (this.#stop.signal.aborted) {
        closingSteps++
        if (this.#flushesAtEnd && isBehind && closingSteps < CLOSING_STEPS_MAX) continue
        if (this.#flushesAtEnd && this.#state.kind === 'serving') await this.#flush()
        return
      }
      if (this.#state.kind === 'building') await this.#takeFromTable(this.#state)
      else await this.#flushWhenDue()
      if (!isBehind) await this.#idle()
    }
  }

  async #open(): Promise<void> {
    const { shard, fields, directory, clock } = this.#with
    this.#broken = undefined
    this.#openingSinceMs = clock.monotonicMs()
    await fields.load()
    if (this.#state.kind === 'building' && this.#state.reason !== undefined) {
      return this.#rebuild(this.#state.reason)
    }
    this.#learnt = fields.known.length
    this.#learning = undefined
    const opened = await this.index.open({
      directory,
      source: this.#source,
      fields: fields.known,
    })
    if (opened.outdated !== undefined) return this.#replace(opened.outdated)
    const reason = await this.#whyRebuild(opened)
    if (reason !== undefined) throw new ServiceError('CORRUPTION', reason)
    if (opened.checkpoint > 0) {
      this.#applied = opened.checkpoint
      this.#flushed = opened.checkpoint
      const isBehind = opened.checkpoint < shard.appliedSequence
      this.#dirtySinceMs = isBehind ? clock.monotonicMs() : undefined
      if (isBehind) this.#notices.catchingUp(shard.appliedSequence - opened.checkpoint)
      this.#setState({ kind: 'serving' })
    } else if (opened.documents > 0 || this.#source.kind === 'stored') {
      await this.#rebuild(undefined) // a crash came before the end of the table
    } else {
      await this.#build(undefined)
    }
  }

  /** What the index knew of fields is the table's first, so that it becomes what it was. */
  async #replace({ reason, fields }: OutdatedTextIndex): Promise<void> {
    await this.#propose(fields)
    await this.#rebuild(reason)
  }

  async #whyRebuild({ checkpoint }: OpenedTextIndex): Promise<string | undefined> {
    const { store, appliedSequence } = this.#with.shard
    if (checkpoint === 0) return undefined
    if (checkpoint > appliedSequence) return 'the text index is ahead of its shard'
    const oldest = await endOfLog(store, 'oldest')
    if (oldest === undefined || oldest <= checkpoint + 1) return undefined
    return 'the log no longer reaches back to the text index'
  }

  async #rebuild(reason: string | undefined): Promise<void> {
    const { directory } = this.#with
    if (this.#source.kind === 'stored') {
      throw new ServiceError('CORRUPTION', 'the index of the earlier schema was never complete')
    }
    const { known } = this.#with.fields
    this.#learnt = known.length
    this.#learning = undefined
    await this.index.reset({ directory, schema: this.#source.schema, fields: known })
    await this.#build(reason)
  }

  async #build(reason: string | undefined): Promise<void> {
    // Whatever was committed before is met on the walk, whatever comes later by the log.
    this.#applied = this.#with.shard.appliedSequence
    this.#walkedTo = this.#applied
    this.#flushed = 0
    // Read after `applied`, so that no key of before is above it.
    const last = await readLastKey(this.#with.shard)
    this.#setState({ ...FRESH, last, reason })
    // An empty table is done at once: there is nothing to tell.
    if (last !== undefined) this.#notices.building(reason)
  }

  #assertWhole(): void {
    if (this.#broken !== undefined) throw this.#broken
  }

  /** One step of the log; answers whether there is more. */
  async #takeFromLog(): Promise<boolean> {
    const { shard, clock } = this.#with
    const to = shard.appliedSequence
    if (this.#applied >= to) return false
    const run = { from: this.#applied + 1, to }
    const { keys, sequence } = await readTouchedKeys(shard.store, run, clock)
    if (keys.length > 0) {
      for await (const { changes, isLast } of readChanges(shard, keys, clock)) {
        await this.#send(isLast ? sequence : this.#applied, changes)
      }
    }
    this.#applied = sequence
    this.#failures = 0
    this.#dirtySinceMs ??= clock.monotonicMs()
    const above = this.#state.kind === 'building' ? this.#walkedTo : -1
    this.#waiters.reached({ above, upTo: sequence })
    const isBehind = sequence < shard.appliedSequence
    if (!isBehind) this.#notices.caughtUp()
    return isBehind
  }

  async #takeFromTable(state: Building): Promise<void> {
    const { last, cursor: after } = state
    const found = last && (await readNextDocuments(this.#with.shard, { after, last }))
    if (found === undefined) {
      await this.#flush()
      this.#failures = 0
      this.#setState({ kind: 'serving' })
      this.#notices.built(state.processed)
      return
    }
    await this.#send(this.#applied, found.changes)
    const documents = found.changes.filter(({ json }) => json !== undefined).length
    const processed = state.processed + documents
    this.#setState({ ...state, processed, cursor: found.last })
    await nextTurn()
  }

  async #send(sequence: number, changes: readonly DocumentChange[]): Promise<void> {
    const checkpoint = this.#state.kind === 'building' ? 0 : sequence
    for (let left = this.#setAside.without(changes); ;) {
      const applied = await this.#apply(checkpoint, left)
      this.#flushed = applied.checkpoint
      if (applied.taken >= left.length) return
      left = left.slice(applied.taken)
      await this.#propose(applied.undecided)
      await this.learnFields()
    }
  }

  /**
   * Puts new fields on the table's list. The index goes on answering while the list is out of reach; it
   * falls behind, and no more.
   */
  async #propose(undecided: readonly TableField[]): Promise<void> {
    const { fields, log, clock, place } = this.#with
    for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(RETRY_MS_MAX, 2 * pauseMs)) {
      try {
        return await fields.propose(undecided)
      } catch (error) {
        if (!isServiceError(error) || this.#stop.signal.aborted) throw error
        log.warn('new fields of documents wait', { ...place, error: error.message })
        await clock.sleep(pauseMs, this.#stop.signal)
      }
    }
  }

  async #apply(checkpoint: number, changes: readonly DocumentChange[]): Promise<AppliedTo> {
    try {
      const applied = await this.index.apply(packBatch(checkpoint, changes))
      this.#setAside.absolve(changes.slice(0, applied.taken))
      return applied
    } catch (error) {
      this.#setAside.blame(error, changes)
      throw error
    }
  }

  async #flushWhenDue(): Promise<void> {
    const dueMs = (this.#dirtySinceMs ?? Infinity) + FLUSH_PERIOD_MS
    if (this.#with.clock.monotonicMs() >= dueMs) await this.#flush()
  }

  async #flush(): Promise<void> {
    const sequence = this.#applied
    this.#dirtySinceMs = undefined
    if (sequence === this.#flushed && this.#state.kind === 'serving') return
    this.#flushed = (await this.index.flush(sequence)).checkpoint
  }

  /** Until there is something to do. */
  async #idle(): Promise<void> {
    const { shard, clock } = this.#with
    if (this.#state.kind === 'building' || this.#stop.signal.aborted) return
    if (this.#applied < shard.appliedSequence || this.#broken !== undefined) return
    const woken = Promise.withResolvers<void>()
    const timer = new AbortController()
    this.#wake = woken.resolve
    if (this.#dirtySinceMs !== undefined) {
      const leftMs = this.#dirtySinceMs + FLUSH_PERIOD_MS - clock.monotonicMs()
      void clock.sleep(leftMs, timer.signal).then(woken.resolve, () => undefined)
    }
    await woken.promise
    this.#wake = undefined
    timer.abort()
  }

  #setState(state: TextIndexState): void {
    const wasServing = this.#state.kind === 'serving'
    this.#state = state
    if (state.kind === 'serving') {
      this.#serving.resolve()
      this.#waiters.reached({ above: -1, upTo: this.#applied })
    } else if (wasServing) {
      this.#serving = Promise.withResolvers()
    }
  }

  /** From 0 to 1, by bytes of the table, of which those written last are not counted. */
  async progress(): Promise<number> {
    if (this.#state.kind !== 'building') return this.#state.kind === 'serving' ? 1 : 0
    const { cursor } = this.#state
    if (cursor === undefined) return 0
    const { store } = this.#with.shard
    const { gte, lt } = keyspaceRange('documents')
    const walked = { gte, lt: Buffer.concat([gte, cursor]) }
    const total = await store.approximateBytes({ gte, lt })
    return total === 0 ? 0 : Math.min(1, (await store.approximateBytes(walked)) / total)
  }
}
