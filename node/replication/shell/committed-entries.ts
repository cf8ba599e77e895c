import { ServiceError } from '../../../lib/errors.ts'
import type { LogId } from '../../journal/journal-format.ts'
import type { LogIndex } from '../core/log-index.ts'
import type { KeptEntries } from './kept-entries.ts'
import type { LogReader } from './log-reader.ts'
import type { SentEntry } from './message-codec.ts'

/** Entries are read in pieces of this size: they are in memory while they are applied. */
const PIECE_BYTES = 1024 * 1024

/** Where the entries of one log are. */
export interface CommittedEntriesOptions {
  readonly logId: LogId
  readonly index: LogIndex
  readonly kept: KeptEntries
  readonly reader: LogReader
}

/** Reads committed entries for the store: the newest from memory, others from the journal. */
export class CommittedEntries {
  readonly #with: CommittedEntriesOptions

  constructor(options: CommittedEntriesOptions) {
    this.#with = options
  }

  /**
   * The first entries after `above`: about PIECE_BYTES of them, at most through `through`, and at least
   * one. Throws CORRUPTION if one is not there.
   */
  async after(above: number, through: number): Promise<readonly SentEntry[]> {
    const { kept, reader, logId } = this.#with
    const last = this.#endOfPiece(above, through)
    const found = kept.between(above, last)
    const entries = found ?? (await reader.between(above, last))
    // At rest it keeps no segments of the journal.
    if (found !== undefined || last === through) await reader.rest()
    if (entries !== undefined) return entries
    const problem = `entries ${above + 1} to ${last} of log ${logId} are not in the journal`
    throw new ServiceError('CORRUPTION', problem)
  }

  async close(): Promise<void> {
    await this.#with.reader.rest()
  }

  #endOfPiece(above: number, through: number): number {
    const { index } = this.#with
    let bytes = 0
    let last = above
    while (last < through) {
      bytes += index.bytesAt(last + 1)
      if (bytes > PIECE_BYTES && last > above) break
      last += 1
    }
    return last
  }
}
