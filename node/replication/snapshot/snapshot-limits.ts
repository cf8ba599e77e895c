const KIB = 1024
const MIB = 1024 * KIB

/** The most content of a page. It is a part of the format. */
export const PAGE_CONTENT_BYTES_MAX = 256 * KIB
/** No entry of a store is longer: a document has 10 MiB at most, a log entry the touches of one request. */
export const ENTRY_VALUE_BYTES_MAX = 512 * MIB
/** More files than the indexes of a shard ever have. */
export const FILES_MAX = 100_000

/** Every bound of the snapshots that a node gives. */
export interface SnapshotLimits {
  /** Snapshots that are open at once. One more is refused. */
  readonly openMax: number
  /** A snapshot that nobody has read for this long is closed. Meanwhile a reader may come back. */
  readonly idleMs: number
  /** A snapshot keeps overwritten data on the disk, so it is closed at this age in any case. */
  readonly ageMs: number
  /** What all snapshots together send, so that clients' requests keep their speed. */
  readonly bytesPerSecond: number
  /** Page ends that are remembered: a reader may continue after any of them. */
  readonly resumablePages: number
}

export const SNAPSHOT_LIMITS: SnapshotLimits = {
  openMax: 2,
  idleMs: 30_000,
  ageMs: 60 * 60_000,
  bytesPerSecond: 32 * MIB,
  // The transport sends a window of a MiB ahead of the reader. Even pages of 16 KiB are covered.
  resumablePages: 64,
}

/** How long the receiving node tries. */
export interface ReceiveLimits {
  /** Failures in a row without a new page. */
  readonly retriesMax: number
  readonly retryBaseMs: number
  readonly retryCapMs: number
  /** A stream that brings nothing for this long has failed. */
  readonly stallMs: number
  /** The answer to a call. Opening waits for links to index files. */
  readonly callMs: number
  /** How often it begins with another snapshot, because the one before is no longer open. */
  readonly beginningsMax: number
}

export const RECEIVE_LIMITS: ReceiveLimits = {
  retriesMax: 8,
  retryBaseMs: 100,
  retryCapMs: 5000,
  stallMs: 20_000,
  callMs: 30_000,
  beginningsMax: 3,
}
