import type { ServiceError } from '../../lib/errors.ts'
import type { AppendedRow } from './batch-writer.ts'
import type { LogId } from './journal-format.ts'

/**
 * A shard's log, as the journal sees it: a source of entries to write. The journal calls it. A
 * source calls the journal only by `ready` and `hurry`.
 */
export interface JournalSource {
  readonly logId: LogId
  /** An upper bound of the bytes that `take` will give, with all bodies. */
  readonly readyBytes: number
  /** The number of entries and marks that `take` will give. */
  readonly readyEntries: number
  /**
   * Sources whose ready entries this source depends on. They are written in the same batch or an
   * earlier one (J2), also of those that have not called `ready` yet.
   */
  readonly companions: Iterable<JournalSource>
  /**
   * Passes all ready entries and marks to the journal, in order. Marks of a journal without
   * `mayMark`, and a truncation below the committed sequence, end the process with an
   * InvariantError; nothing is written then.
   */
  take(): readonly AppendedRow[]
  /** The entries of the last `take` are durable. */
  written(): void
  /** The ready entries, taken or not, were refused or have an unknown fate. */
  failed(error: ServiceError): void
}
