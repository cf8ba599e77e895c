import { assert, must } from '../../../lib/assert.ts'

/** An entry of a replica's log, and what the next one is chained to. */
export interface LogPosition {
  readonly sequence: number
  /** The epoch of the leader that appended the entry. */
  readonly epoch: number
  /** Over this entry and, by the chain, over all before it. */
  readonly crc: number
}

/** All that the core knows of an entry. The shell knows its payload. */
export interface EntryInfo extends LogPosition {
  /** The bytes of the payload, for flow control. */
  readonly bytes: number
}

interface EpochStart {
  readonly epoch: number
  readonly first: number
}

/**
 * Which entries a replica's log has, without their payloads: positions, sizes, and where each epoch
 * begins. It mirrors the log on disk; the core alone changes it.
 *
 * Invariants:
 *   LI1  Sequence numbers are contiguous from `base` on, and epochs never decrease.
 *   LI2  Entries up to `base` are gone from the log: a snapshot holds what they did.
 */
export class LogIndex {
  #base: LogPosition
  readonly #crcs: number[] = []
  readonly #bytes: number[] = []
  /** Where each epoch after that of `base` starts within the log, in order. */
  readonly #epochs: EpochStart[] = []

  constructor(base: LogPosition, entries: Iterable<EntryInfo> = []) {
    this.#base = base
    for (const entry of entries) this.append(entry)
  }

  /** The entry before the first one that is kept. */
  get base(): LogPosition {
    return this.#base
  }

  get last(): LogPosition {
    return must(this.positionAt(this.#base.sequence + this.#crcs.length), 'the last position')
  }

  append({ sequence, epoch, crc, bytes }: EntryInfo): void {
    const { last } = this
    assert(sequence === last.sequence + 1, 'log entries are contiguous')
    assert(epoch >= last.epoch, 'epochs of a log never decrease')
    if (epoch > last.epoch) this.#epochs.push({ epoch, first: sequence })
    this.#crcs.push(crc)
    this.#bytes.push(bytes)
  }

  /** Undefined for entries that the index does not have yet, or has dropped. */
  positionAt(sequence: number): LogPosition | undefined {
    if (sequence === this.#base.sequence) return this.#base
    const crc = this.#crcs[sequence - this.#base.sequence - 1]
    return crc === undefined ? undefined : { sequence, epoch: this.#epochOf(sequence), crc }
  }

  bytesAt(sequence: number): number {
    return must(this.#bytes[sequence - this.#base.sequence - 1], 'the size of a log entry')
  }

  /** The bytes of the entries after `above`, through `through`, as far as they are in the log. */
  bytesBetween(above: number, through: number): number {
    let bytes = 0
    const end = Math.min(through, this.last.sequence)
    for (let at = Math.max(above, this.#base.sequence) + 1; at <= end; at++) {
      bytes += this.bytesAt(at)
    }
    return bytes
  }

  /** Whether this very entry is in the log, or is its base. */
  has({ sequence, epoch, crc }: LogPosition): boolean {
    const own = this.positionAt(sequence)
    return own !== undefined && own.epoch === epoch && own.crc === crc
  }

  /**
   * The last entry at or before `sequence` whose epoch is not above `epoch`; undefined when that
   * entry is not in the log any more.
   */
  lastOfEpoch(epoch: number, sequence: number): LogPosition | undefined {
    if (epoch < this.#base.epoch) return undefined
    const next = this.#epochs.find((start) => start.epoch > epoch)
    const end = next === undefined ? this.last.sequence : next.first - 1
    return this.positionAt(Math.min(end, sequence))
  }

  truncateAfter(sequence: number): void {
    assert(sequence >= this.#base.sequence, 'a log is not truncated below its base')
    const count = sequence - this.#base.sequence
    this.#crcs.length = Math.min(this.#crcs.length, count)
    this.#bytes.length = this.#crcs.length
    while ((this.#epochs.at(-1)?.first ?? 0) > sequence) this.#epochs.pop()
  }

  /** The entries up to `sequence` leave the log; a snapshot holds what they did. */
  dropThrough(sequence: number): void {
    const base = this.positionAt(sequence)
    if (base === undefined || sequence <= this.#base.sequence) return
    const count = sequence - this.#base.sequence
    this.#crcs.splice(0, count)
    this.#bytes.splice(0, count)
    while ((this.#epochs[0]?.first ?? Infinity) <= sequence) this.#epochs.shift()
    this.#base = base
  }

  /** The log begins again after a snapshot. */
  restart(base: LogPosition): void {
    this.#crcs.length = 0
    this.#bytes.length = 0
    this.#epochs.length = 0
    this.#base = base
  }

  #epochOf(sequence: number): number {
    const start = this.#epochs.findLast(({ first }) => first <= sequence)
    return start?.epoch ?? this.#base.epoch
  }
}
