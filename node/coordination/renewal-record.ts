// When a lease was last renewed: known to one thread, or shared by the one that renews it and the one that
// counts on it.

/** By the clocks of the thread that reads or writes it. */
export interface Renewal {
  /** When the renewal was sent. */
  readonly monotonicMs: number
  /** The same by the clock that continues while the machine sleeps. */
  readonly uptimeMs: number
  readonly ttlSeconds: number
}

/** The last renewal that was answered in time. */
export interface RenewalRecord {
  read(): Renewal
  write(renewal: Renewal): void
}

/** A record of one thread. */
export function recordOf(first: Renewal): RenewalRecord {
  let last = first
  return {
    read: () => last,
    write: (renewal) => {
      last = renewal
    },
  }
}

const CELLS = 3
const US_PER_MS = 1000

/** Memory for a record that threads share. */
export function newRenewalCells(): BigInt64Array {
  return new BigInt64Array(new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT))
}

/**
 * A record in shared cells. `offsetMs` leads from the clock of this thread to that of the process.
 *
 * The moment by the monotonic clock is written last and read first. So a reader that meets a writer believes
 * in less time than there is, and never in more.
 */
export function sharedRecord(cells: BigInt64Array, offsetMs: number): RenewalRecord {
  return {
    read: () => ({
      monotonicMs: Number(Atomics.load(cells, 0)) / US_PER_MS - offsetMs,
      uptimeMs: Number(Atomics.load(cells, 1)) / US_PER_MS,
      ttlSeconds: Number(Atomics.load(cells, 2)),
    }),
    write: ({ monotonicMs, uptimeMs, ttlSeconds }) => {
      Atomics.store(cells, 2, BigInt(ttlSeconds))
      Atomics.store(cells, 1, BigInt(Math.floor(uptimeMs * US_PER_MS)))
      Atomics.store(cells, 0, BigInt(Math.floor((monotonicMs + offsetMs) * US_PER_MS)))
    },
  }
}
