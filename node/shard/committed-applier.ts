// Carries committed entries of another leader into the store of a follower.
//
// Small entries are gathered for some milliseconds. A write of the store costs the event loop as much for one entry
// as for several, and the next entry of a lone client waits behind it on its way to the journal.

import type { Clock } from '../../lib/clock.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import { decodeRow } from '../journal/journal-format.ts'
import type { JournalEntry } from '../journal/journal-reader.ts'
import type { LogIndex } from '../replication/core/log-index.ts'
import type { ReplicatedLog } from '../replication/shell/replicated-log.ts'
import type { SentEntry } from '../replication/shell/message-codec.ts'
import { replayLog } from './replay.ts'
import type { ShardState } from './shard-state.ts'
import { closedError } from './store-feed.ts'

const RETRY_MS = 250
const GATHER_MS = 5
const GATHERED_BYTES_MAX = 256 * 1024

/** What the applier works with. */
export interface CommittedApplierOptions {
  readonly state: ShardState
  readonly log: Pick<ReplicatedLog, 'committedEntries'>
  /** The index of the same log, which knows the lengths of its entries. */
  readonly index: Pick<LogIndex, 'bytesBetween'>
  readonly clock: Clock
}

/** Applies entries in order, in pieces of bounded size. A store that refuses is tried again. */
export class CommittedApplier {
  readonly #with: CommittedApplierOptions
  readonly #closing = new AbortController()
  #target = 0
  /** The bytes of the entries that were followed since the last write of the store. */
  #bytes = 0
  #awaited = 0
  /** Ends the gathering that is under way. */
  #gathered: (() => void) | undefined
  #running: Promise<void> | undefined
  #trouble: ServiceError | undefined

  constructor(options: CommittedApplierOptions) {
    this.#with = options
  }

  /** Why the store takes nothing at the moment. */
  get trouble(): ServiceError | undefined {
    return this.#trouble
  }

  /** Entries up to here are committed. */
  follow(through: number): void {
    if (through > this.#target) {
      this.#bytes += this.#with.index.bytesBetween(this.#target, through)
      this.#target = through
    }
    if (this.#closing.signal.aborted) return
    this.#running ??= this.#run()
    if (this.#isUrgent) this.#gathered?.()
  }

  /** Resolves when the store has the entries up to `through`. Rejects after the close. */
  async reached(through: number): Promise<void> {
    this.#awaited += 1
    this.follow(through)
    await this.#running
    this.#awaited -= 1
    if (this.#with.state.appliedSequence < through) throw closedError()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#gathered?.()
    await this.#running
  }

  async #run(): Promise<void> {
    const { state } = this.#with
    await Promise.resolve() // so that `#running` is known to those who end the gathering
    while (state.appliedSequence < this.#target && !this.#closing.signal.aborted) {
      if (!this.#isUrgent) await this.#gather()
      this.#bytes = 0
      try {
        await this.#apply()
        this.#trouble = undefined
      } catch (error) {
        this.#trouble = troubleOf(error)
        const { clock } = this.#with
        await clock.sleep(RETRY_MS, this.#closing.signal).catch(() => undefined)
      }
    }
    this.#running = undefined
  }

  get #isUrgent(): boolean {
    return this.#awaited > 0 || this.#bytes >= GATHERED_BYTES_MAX || this.#closing.signal.aborted
  }

  async #gather(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gathered = resolve
    void this.#with.clock.sleep(GATHER_MS).then(resolve)
    await promise
    this.#gathered = undefined
  }

  /** A write that failed may be in the store all the same, so each try begins where the store is. */
  async #apply(): Promise<void> {
    const { state, log } = this.#with
    const from = state.storedPosition()
    if (from.sequence >= this.#target) return state.publishFollowed(from.sequence)
    const entries = await log.committedEntries(from.sequence, this.#target)
    const page = onePage(entries.map(journalEntryOf))
    const { position } = await replayLog(state.store, from, page, state.noteFollowed)
    state.publishFollowed(position.sequence)
  }
}

async function* onePage(
  page: readonly JournalEntry[],
): AsyncGenerator<readonly JournalEntry[], undefined> {
  yield page
}

function journalEntryOf({ row, body }: SentEntry): JournalEntry {
  const { sequence, epoch, previousCrc, crc } = decodeRow(row)
  const [first, ...others] = body
  const whole = others.length === 0 && Buffer.isBuffer(first) ? first : Buffer.concat(body)
  return { sequence, epoch, previousCrc, crc, body: whole }
}

function troubleOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const message = `the shard's store failed: ${messageOf(error)}`
  return new ServiceError('UNAVAILABLE', message, { cause: error })
}
