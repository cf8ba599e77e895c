// What became of entries whose leader stopped before they were committed.
//
// Invariants:
//   SF1  Only a committed entry decides. A log that lost entries by a truncation alone may get them again: the
//        leader that took them back may end before it commits anything, and the next one may have them.
//   SF2  Epochs of a log never decrease, and what is committed is in every later leader's log. So entries of an
//        epoch that are not in the log when an entry of a newer epoch is committed are never committed.

import type { LogIndex, LogPosition } from './log-index.ts'

/** Entries that one leader appended together, of one epoch. */
export interface EntrySpan {
  readonly first: LogPosition
  readonly last: LogPosition
}

/**
 * `open`: nothing is decided. `committed`: all of the entries are. `nothing`: none of them ever takes effect.
 * `unknown`: some of them may be committed, and others are not.
 */
export type SpanFate = 'open' | 'committed' | 'nothing' | 'unknown'

/** The fate of the entries, as a replica knows it whose log is committed up to `committed`. */
export function fateOfSpan(
  { first, last }: EntrySpan,
  { log, committed }: { readonly log: LogIndex; readonly committed: number },
): SpanFate {
  if (last.sequence <= committed && log.has(last)) return 'committed'
  const reached = log.positionAt(committed)
  if (reached === undefined || reached.epoch <= last.epoch) return 'open' // SF1
  // What lies below the base cannot be compared any more.
  if (first.sequence <= log.base.sequence || log.has(first)) return 'unknown'
  return 'nothing' // SF2
}
