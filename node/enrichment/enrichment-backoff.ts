// When failed enrichments are tried again: the one back-off of models, shards, documents and their artifacts.

import { backoffDelayMs, type BackoffPolicy } from '../../lib/backoff.ts'
import type { Random } from '../../lib/random.ts'

/** The longest pause, and the time between two rounds over documents whose file or summarizer was not there. */
export const BACKOFF_MS_MAX = 60_000
const BACKOFF: BackoffPolicy = { baseMs: 500, capMs: BACKOFF_MS_MAX, retriesMax: Infinity }
/** 500 ms doubled seven times are more than the longest pause. */
const FAILURES_UNTIL_LONGEST = 7

/** The pause after a number of failures in a row, the last one included. */
export function enrichmentBackoffMs(failures: number, random: Random): number {
  return backoffDelayMs(BACKOFF, failures - 1, random)
}

/** The pause after a failure that only a person mends: nobody waits for the next attempt. */
export function longestBackoffMs(random: Random): number {
  return backoffDelayMs(BACKOFF, FAILURES_UNTIL_LONGEST, random)
}

/**
 * Whether a document whose file or summarizer was not there is tried again in this round: after failed attempts
 * in rounds that are further and further apart.
 */
export function isDueIn(round: number, attempts: number): boolean {
  return round % 2 ** (attempts - 1) === 0
}
