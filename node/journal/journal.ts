// The write-ahead log of all shard replicas of a data directory. Format: docs/reference/formats/journal.md.
//
//   sources (one for each shard) ─ready─► queue ─take─► one batch ─► one durable write ─► written
//
// Invariants:
//   J1  At most one batch is being written. The next one begins once it is durable.
//   J2  The entries of a log are taken, written and reported in the order of their sequence numbers.
//       A source's entries are never in an earlier batch than the ready entries of its companions.
//   J3  A segment is removed only when every log with entries in it that count has flushed past them,
//       or is forgotten.
//   J4  After a failed write nothing more is written: the state of the disk is unknown, and the
//       process ends.
//   J5  A segment counts only once something in it is durable. Then earlier segments may be removed,
//       and the journal always keeps one.
//   J6  A segment is removed only when each promise and each committed sequence that counts is in a
//       newer one.

import { setImmediate as turnEnd } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import { assert, InvariantError } from '../../lib/assert.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { JournalDirectory } from './journal-directory.ts'
import { BatchQueue, batchBytes } from './batch-queue.ts'
import { BatchWriter, type AppendedRow, type WrittenPlace } from './batch-writer.ts'
import { CarriedMarks } from './carried-marks.ts'
import type { JournalContent } from './journal-content.ts'
import { BATCH_HEADER_BYTES, ROW_BYTES, type LogId } from './journal-format.ts'
import { readKeptLogs, type KeptLog } from './kept-logs.ts'
import type { LogState } from './log-marks.ts'
import type { LogOwner } from './log-owner.ts'
import { GatheredReading } from './gathered-reading.ts'
import { JointReading } from './joint-reading.ts'
import { readEntries, type JournalEntry } from './journal-reader.ts'
import { recoverJournal, type RecoveredJournal } from './journal-recovery.ts'
import type { JournalSource } from './journal-source.ts'
import { JournalMetrics } from './journal-metrics.ts'
import { JournalRetention } from './journal-retention.ts'
import type { Segment } from './journal-segment.ts'
import { SegmentSupply } from './segment-supply.ts'

const MIB = 1024 * 1024
const SEGMENT_BYTES = 16 * MIB
/** With more bytes than this, shards that need the oldest segment are asked to flush. */
const KEPT_BYTES = 96 * MIB
/**
 * An idle journal writes a seal after this time. Until then, a flipped bit in its end looks like a
 * torn write.
 */
const SEAL_AFTER_MS = 50
/** `wantedBytes` in multiples of `keptBytes`. A follower that is farther behind needs a snapshot. */
const WANTED_TIMES = 4
/** A batch has no more marks of committed sequences than this: 32 KiB. Others wait for the next one. */
const NOTED_MAX = 1024

/** What the journal needs from its node. */
export interface JournalOptions {
  readonly directory: JournalDirectory
  readonly clock: Clock
  readonly log: Log
  /** Returns 32 random bits. */
  readonly randomBits: () => number
  /** Whether the file system has this much room beside its reserve. */
  readonly hasRoomFor: (bytes: number) => boolean
  /** Called once for J4. The process must end. */
  readonly onFailure: (error: Error) => void
  readonly segmentBytes?: number
  readonly keptBytes?: number
  /** The limit of bytes for which `LogOwner.wantedFrom` counts; less than 8 times `keptBytes`. */
  readonly wantedBytes?: number
  /**
   * Whether marks may be written. The format of the data directory must say so before: programs
   * that do not know marks refuse it then.
   */
  readonly mayMark?: boolean
}

/**
 * The journal of one data directory. Register a log before its entries may be removed; `close`
 * writes the queued entries first.
 */
export class Journal {
  /** Reads as `entries` does, logs that are asked for within moments in one pass (gathered-reading.ts). */
  readonly gathered: Pick<GatheredReading, 'entries'>
  readonly #with: JournalOptions
  readonly #supply: SegmentSupply
  readonly #writer: BatchWriter
  readonly #retention: JournalRetention
  readonly #content: JournalContent
  readonly #carried: CarriedMarks
  readonly #mayMark: boolean
  readonly #metrics = new JournalMetrics()
  /** The open segment while nothing in it is durable; otherwise undefined. */
  #begun: Segment | undefined
  readonly #queue: BatchQueue
  #running: Promise<void> | undefined
  #failure: ServiceError | undefined
  #isSealed = true
  #idleSinceMs = 0
  #isSealing = false
  readonly #closing = new AbortController()
  #isClosed = false

  private constructor(options: JournalOptions, found: RecoveredJournal) {
    this.#with = options
    const { directory, clock, hasRoomFor, randomBits, log } = options
    const { content, spares, nextNumber, position } = found
    const segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    const keptBytes = options.keptBytes ?? KEPT_BYTES
    this.#content = content
    this.gathered = new GatheredReading({ directory, content })
    this.#mayMark = options.mayMark === true || !content.marks.isEmpty
    this.#supply = new SegmentSupply({ directory, segmentBytes, hasRoomFor, spares, nextNumber })
    this.#writer = new BatchWriter({ directory, position, randomBits })
    this.#queue = new BatchQueue({ clock, onDue: () => this.#begin() })
    this.#carried = new CarriedMarks({
      onReady: (source) => this.ready(source, { isAwaited: false }),
      onWritten: () => this.#retention.shrink(),
    })
    this.#retention = new JournalRetention({
      log,
      content,
      keptBytes,
      wantedBytes: options.wantedBytes ?? WANTED_TIMES * keptBytes,
      carry: ({ number }) => this.#carried.carry(() => content.marks.endingIn(number)),
      release: (segment) => this.#supply.giveBack(segment),
    })
  }

  /**
   * Reads and checks the whole journal. Throws CORRUPTION with the file and the offset of damage.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options, await recoverJournal(options.directory))
    journal.#supply.prepare()
    return journal
  }

  /** Whether the journal was never written to. A used journal keeps at least its last segment. */
  get isNew(): boolean {
    return this.#content.segments.length === 0
  }

  /** The bytes of all kept segments. */
  get keptBytes(): number {
    return this.#content.segments.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** The journal's metrics as Prometheus text. */
  metricLines(): readonly string[] {
    const { length: segments } = this.#content.segments
    const { length: queuedGroups } = this.#queue
    return this.#metrics.lines({ segments, keptBytes: this.keptBytes, queuedGroups })
  }

  /**
   * Reads the entries of a log above a sequence number, in order, in pages. Entries that are
   * truncated meanwhile may be among them. The segments stay until the reader has passed them, so
   * read to the end, or leave the loop.
   */
  entries(logId: LogId, above: number): AsyncGenerator<readonly JournalEntry[]> {
    return readEntries(this.#readable, { logId, above })
  }

  /** Reads the entries of these logs in one pass, which begins when each of them is asked for (joint-reading.ts). */
  readTogether(logIds: ReadonlySet<LogId>): JointReading {
    return new JointReading(this.#readable, logIds)
  }

  /** Reads the rows of these logs in one pass. Nothing may be appended meanwhile. */
  keptLogs(logIds: ReadonlySet<LogId>): Promise<ReadonlyMap<LogId, KeptLog>> {
    return readKeptLogs(this.#readable, logIds)
  }

  /** The promise and the committed sequence of a log, as far as they are durable. */
  stateOf(logId: LogId): LogState {
    return this.#content.marks.stateOf(logId)
  }

  /**
   * Reports that the log's entries up to `sequence` will never go away. The next batch says so on
   * disk; nothing is written for this alone. A truncation below it is refused from now on.
   */
  committed(logId: LogId, sequence: number): void {
    assert(this.#mayMark, 'a journal without marks keeps single replicas')
    this.#content.marks.note(logId, sequence)
  }

  get #readable(): { readonly directory: JournalDirectory; readonly content: JournalContent } {
    return { directory: this.#with.directory, content: this.#content }
  }

  /**
   * From now on, keeps the log's segments until its owner has flushed past them. Everything up to
   * `flushed` is already durable elsewhere.
   */
  register(logId: LogId, owner: LogOwner, flushed: number): void {
    this.#retention.register(logId, owner, flushed)
  }

  /**
   * Names all logs that still exist, once every shard has been opened. Entries of other logs may
   * then be removed. Until then the entries of all logs are kept.
   */
  retainOnly(logIds: ReadonlySet<LogId>): void {
    this.#retention.retainOnly(logIds)
    this.#content.marks.retainOnly(logIds)
  }

  /** The owner closes: `keep` its entries for the next start, or `drop` them with the shard. */
  unregister(logId: LogId, entries: 'keep' | 'drop'): void {
    this.#retention.unregister(logId, entries)
    if (entries === 'drop') this.#content.marks.forget(logId)
  }

  /** Reports that everything of the log up to `sequence` is durable elsewhere. */
  flushed(logId: LogId, sequence: number): void {
    this.#retention.flushed(logId, sequence)
  }

  /**
   * Queues a source, once for each group. The journal takes it as soon as the disk is free. A
   * source that no caller waits for may wait some milliseconds for others.
   */
  ready(source: JournalSource, asked: { readonly isAwaited: boolean }): void {
    if (this.#failure !== undefined) return source.failed(this.#failure)
    if (this.#isClosed) {
      return source.failed(new ServiceError('UNAVAILABLE', 'the journal is closed'))
    }
    this.#queue.push(source, asked)
  }

  /** A caller now waits for the queued entries. */
  hurry(): void {
    this.#queue.hurry()
  }

  /** Resolves when no entry waits to be written. */
  async idle(): Promise<void> {
    this.hurry()
    while (this.#running !== undefined) await this.#running
  }

  /** Writes the queued entries, seals the end and closes the files. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.idle()
    this.#isClosed = true
    this.#closing.abort()
    const isNoted = this.#content.marks.notedCount > 0
    if ((!this.#isSealed || isNoted) && this.#failure === undefined) await this.#seal()
    await this.#retention.idle()
    await this.#supply.idle()
    await this.#writer.close()
  }

  #begin(): void {
    if (this.#failure === undefined) this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#queue.isDue && this.#failure === undefined) {
      // Other sources of this turn of the event loop join the batch. Requests arrive in groups, and
      // each batch costs the wake-up of two threads.
      await turnEnd()
      const sources = this.#queue.next()
      const bytes = batchBytes(sources, this.#notedCount)
      if (this.#writer.left >= bytes) await this.#write(sources)
      else await this.#rotate(bytes)
    }
    this.#running = undefined
    if (this.#queue.isEmpty) this.#sealWhenIdle()
    else this.#queue.waitForCompany()
  }

  async #rotate(bytes: number): Promise<void> {
    try {
      await this.#retention.room()
      const segment = await this.#supply.take(bytes + this.#writer.headerBytes)
      await this.#writer.rotate(segment)
      this.#begun = segment
    } catch (error) {
      const refusal = asServiceError(error)
      const refused = this.#queue.clear()
      this.#metrics.refused(refused.length)
      for (const source of refused) source.failed(refusal)
    }
  }

  /** The number of committed sequences that the next batch has marks for. */
  get #notedCount(): number {
    return Math.min(this.#content.marks.notedCount, NOTED_MAX)
  }

  async #write(sources: ReadonlySet<JournalSource>): Promise<void> {
    this.#queue.remove(sources)
    this.#content.marks.beginBatch()
    const taken = [...sources].flatMap((source) => source.take())
    this.#isSealed = false
    const { clock } = this.#with
    const beganMs = clock.monotonicMs()
    try {
      const rows = this.#withNoted(taken)
      const place = await this.#writer.write(rows)
      const tookMs = clock.monotonicMs() - beganMs
      const { bytes } = place
      this.#metrics.wrote({ groups: sources.size, entries: rows.length, bytes, tookMs })
      this.#remember(rows, place)
    } catch (error) {
      this.#fail(error, sources)
      return
    }
    for (const source of sources) source.written()
  }

  /** The rows of a batch. Committed sequences were noted before what the sources gave. */
  #withNoted(taken: readonly AppendedRow[]): readonly AppendedRow[] {
    const { marks } = this.#content
    for (const { mark } of taken) {
      if (mark === undefined) continue
      assert(this.#mayMark, 'a journal without marks keeps single replicas')
      marks.assertAllowed(mark)
    }
    if (marks.notedCount === 0) return taken
    return [...marks.takeNoted(NOTED_MAX), ...taken]
  }

  #remember(rows: readonly AppendedRow[], place: WrittenPlace): void {
    this.#content.add(rows, place)
    if (this.#begun !== undefined) this.#keep(this.#begun)
  }

  /** The segment's header and first batch are durable (J5). */
  #keep(segment: Segment): void {
    this.#begun = undefined
    this.#content.segments.push(segment)
    this.#supply.prepare()
    this.#retention.shrink()
  }

  /** Ends the journal after a failed write (J4). */
  #fail(error: unknown, sources: Iterable<JournalSource>): void {
    const failure = new ServiceError(
      'UNAVAILABLE',
      `the journal could not be written (${messageOf(error)}); the node ends, start it again`,
      { cause: error },
    )
    this.#failure = failure
    for (const source of [...sources, ...this.#queue.clear()]) source.failed(failure)
    this.#with.onFailure(error instanceof InvariantError ? error : failure)
  }

  #sealWhenIdle(): void {
    if (this.#isSealed || this.#isClosed || this.#failure !== undefined) return
    this.#idleSinceMs = this.#with.clock.monotonicMs()
    if (this.#isSealing) return
    this.#isSealing = true
    void this.#sealLater()
      .catch(() => undefined) // `close` came first, and it writes a seal too
      .finally(() => {
        this.#isSealing = false
      })
  }

  async #sealLater(): Promise<void> {
    const { clock } = this.#with
    for (;;) {
      const leftMs = this.#idleSinceMs + SEAL_AFTER_MS - clock.monotonicMs()
      if (leftMs <= 0) break
      await clock.sleep(leftMs, this.#closing.signal)
    }
    if (this.#running !== undefined || this.#isSealed) return // the journal is busy, or already sealed
    this.#running = this.#seal().finally(() => {
      this.#running = undefined
      this.hurry()
    })
  }

  async #seal(): Promise<void> {
    const room = this.#writer.left - BATCH_HEADER_BYTES
    if (room < 0) return // the next segment's header is a seal too
    const marks = Math.min(this.#notedCount, Math.floor(room / ROW_BYTES))
    try {
      const rows = this.#content.marks.takeNoted(marks)
      this.#remember(rows, await this.#writer.write(rows))
      this.#isSealed = true
    } catch (error) {
      this.#fail(error, [])
    }
  }
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const reason = `the journal cannot get a new segment: ${messageOf(error)}`
  return new ServiceError('UNAVAILABLE', reason, { cause: error })
}
