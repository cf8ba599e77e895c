import type { ServiceError } from '../../lib/errors.ts'
import type { AppendedEntry } from './batch-writer.ts'
import type { LogId } from './journal-format.ts'

/**
 * Who has entries to write: a shard's log. The journal calls it; it never calls back into the journal
 * but by `ready`.
 */
export interface JournalSource {
  readonly logId: LogId
  /** At most what `take` will give, in bytes with all bodies. */
  readonly readyBytes: number
  readonly readyEntries: number
  /** Whose ready entries the own ones rely on: they are written in the same batch, or before (J2). */
  readonly companions: Iterable<JournalSource>
  /** Hands over all entries that are ready, in order. */
  take(): readonly AppendedEntry[]
  /** The entries of the last `take` are durable. */
  written(): void
  /** The entries that are ready, taken or not, were refused or have an unknown fate. */
  failed(error: ServiceError): void
}
