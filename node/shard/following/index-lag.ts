// The bytes of documents by which the indexes of a shard are behind its log.
//
// A mark holds the bytes that were written up to a log entry. Marks are a quarter of a mebibyte
// apart, so that many small writes need few of them.

/** Writes wait for an index that is further behind. Without a limit it would never catch up. */
export const INDEX_LAG_BYTES_MAX = 8 * 1024 * 1024
const MARK_BYTES = 256 * 1024
/** At this number of marks the lag moves its newest mark instead of adding another. */
const MARKS_MAX = 4096

interface Mark {
  sequence: number
  bytes: number
}

/** Decides when writes have to wait for the indexes of a shard, and for which log entry. */
export class IndexLag {
  /** The written bytes at some log entries, ascending. */
  #marks: Mark[] = []
  #written = 0
  #indexed = 0

  /** Counts a write. `sequence` is its log entry or a later one. */
  wrote(bytes: number, sequence: number): void {
    this.#written += bytes
    const last = this.#marks.at(-1)
    const before = this.#marks.at(-2)?.bytes ?? this.#indexed
    const isNear = last !== undefined && this.#written - before <= MARK_BYTES
    if (last !== undefined && (isNear || this.#marks.length >= MARKS_MAX)) {
      last.sequence = Math.max(last.sequence, sequence)
      last.bytes = this.#written
    } else {
      this.#marks.push({ sequence, bytes: this.#written })
    }
  }

  /** The log entry to wait for until there is room; undefined if there is room. */
  neededFor(bytesMax: number, indexedUpTo: number): number | undefined {
    const ahead = this.#marks.findIndex(({ sequence }) => sequence > indexedUpTo)
    const passed = ahead < 0 ? this.#marks.length : ahead
    if (passed > 0) {
      this.#indexed = this.#marks[passed - 1]?.bytes ?? this.#indexed
      this.#marks = this.#marks.slice(passed)
    }
    if (this.#written - this.#indexed <= bytesMax) return undefined
    return this.#marks.find(({ bytes }) => this.#written - bytes <= bytesMax)?.sequence
  }
}
