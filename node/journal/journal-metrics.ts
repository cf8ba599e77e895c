// The metrics of the journal as Prometheus text.

import { counter, familyLines, gauge, Histogram } from '../../lib/metrics.ts'

/** Upper bounds in seconds. A disk with a battery takes microseconds, a failing disk seconds. */
const SYNC_BUCKETS_S = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
]
const ENTRY_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** One durable write of the journal. */
export interface WrittenBatch {
  /** Groups: the commands of one shard that became durable together. */
  readonly groups: number
  readonly entries: number
  readonly bytes: number
  /** The time from the start of the write until it was durable, in ms. */
  readonly tookMs: number
}

/** The current state of the journal, read at a scrape. */
export interface JournalState {
  readonly segments: number
  readonly keptBytes: number
  /** The number of groups that wait for the batch before theirs. */
  readonly queuedGroups: number
}

/** Counts the journal's writes since the start of the process. */
export class JournalMetrics {
  readonly #syncs = new Histogram(SYNC_BUCKETS_S)
  readonly #entries = new Histogram(ENTRY_BUCKETS)
  #groups = 0
  #bytes = 0
  #refusals = 0

  wrote({ groups, entries, bytes, tookMs }: WrittenBatch): void {
    this.#syncs.observe(tookMs / 1000)
    this.#entries.observe(entries)
    this.#groups += groups
    this.#bytes += bytes
  }

  /** Counts groups that failed because no segment was available. */
  refused(groups: number): void {
    this.#refusals += groups
  }

  lines({ segments, keptBytes, queuedGroups }: JournalState): readonly string[] {
    return [
      ...this.#syncs.lines(
        'quarry_journal_sync_duration_seconds',
        "Duration of the journal's durable writes; each writes one batch.",
      ),
      ...this.#entries.lines('quarry_journal_batch_entries', 'Log entries in each batch.'),
      ...[
        counter(
          'quarry_journal_groups_total',
          'Written groups of commands; a group belongs to one shard.',
          this.#groups,
        ),
        counter('quarry_journal_written_bytes_total', 'Bytes of the written batches.', this.#bytes),
        counter(
          'quarry_journal_refused_groups_total',
          'Groups refused because no segment was available, as on a full disk.',
          this.#refusals,
        ),
        gauge('quarry_journal_queued_groups', 'Groups that wait to be written.', queuedGroups),
        gauge('quarry_journal_segments', 'Segment files of the journal.', segments),
        gauge('quarry_journal_bytes', 'Bytes of the segment files.', keptBytes),
      ].flatMap(familyLines),
    ]
  }
}
