// Carries committed entries of another leader into the store of a follower.

import type { Clock } from '../../lib/clock.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import { decodeRow } from '../journal/journal-format.ts'
import type { JournalEntry } from '../journal/journal-reader.ts'
import type { ReplicatedLog } from '../replication/shell/replicated-log.ts'
import type { SentEntry } from '../replication/shell/message-codec.ts'
import { replayLog } from './replay.ts'
import type { ShardState } from './shard-state.ts'
import { closedError } from './store-feed.ts'

const RETRY_MS = 250

/** What the applier works with. */
export interface CommittedApplierOptions {
  readonly state: ShardState
  readonly log: Pick<ReplicatedLog, 'committedEntries'>
  readonly clock: Clock
}

/** Applies entries in order, in pieces of bounded size. A store that refuses is tried again. */
export class CommittedApplier {
  readonly #with: CommittedApplierOptions
  readonly #closing = new AbortController()
  #target = 0
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
    this.#target = Math.max(this.#target, through)
    if (this.#closing.signal.aborted) return
    this.#running ??= this.#run()
  }

  /** Resolves when the store has the entries up to `through`. Rejects after the close. */
  async reached(through: number): Promise<void> {
    this.follow(through)
    await this.#running
    if (this.#with.state.appliedSequence < through) throw closedError()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { state } = this.#with
    // Entries that become committed in this turn of the event loop share a write of the store.
    await Promise.resolve()
    while (state.appliedSequence < this.#target && !this.#closing.signal.aborted) {
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

  /** A write that failed may be in the store all the same, so each try begins where the store is. */
  async #apply(): Promise<void> {
    const { state, log } = this.#with
    const from = state.storedPosition()
    if (from.sequence >= this.#target) return state.publishFollowed(from.sequence)
    const entries = await log.committedEntries(from.sequence, this.#target)
    const page = onePage(entries.map(journalEntryOf))
    const { position } = await replayLog(state.store, from, page)
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
