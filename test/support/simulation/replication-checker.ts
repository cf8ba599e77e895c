import { crc32 } from 'node:zlib'
import type { EntryInfo, LogPosition } from '../../../node/replication/core/log-index.ts'

interface Committed {
  readonly crc: number
  readonly epoch: number
}

/** A broken promise of the replication, with the time at which it was seen. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant'
}

/** Sees all replicas at once, and says what must never be seen (INV-R1 to R5, R9). */
export class ReplicationChecker {
  readonly #committed: Committed[] = []
  readonly #acknowledged = new Map<number, number>()
  /** Their writers were told that nothing happened. */
  readonly #refused = new Set<string>()
  readonly #servingEpochs = new Map<number, string>()
  readonly #committedBy = new Map<string, number>()
  #acknowledgedMax = 0
  #trace = 0
  acknowledgedWrites = 0
  refusedWrites = 0
  servedReads = 0

  /** A digest of all events. Equal seeds have equal traces. */
  get trace(): number {
    return this.#trace
  }

  get acknowledgedMax(): number {
    return this.#acknowledgedMax
  }

  note(event: string): void {
    this.#trace = crc32(event, this.#trace)
  }

  /** INV-R1. */
  serves(epoch: number, replica: string): void {
    const other = this.#servingEpochs.get(epoch)
    if (other !== undefined && other !== replica) {
      throw new BrokenInvariant(`R1: ${other} and ${replica} both lead epoch ${epoch}`)
    }
    this.#servingEpochs.set(epoch, replica)
    this.note(`serves ${epoch} ${replica}`)
  }

  /** INV-R2, INV-R3, INV-R4: a committed entry is the same on every replica and never changes. */
  commits(replica: string, entries: readonly EntryInfo[]): void {
    for (const { sequence, crc, epoch } of entries) {
      const known = this.#committed[sequence]
      if (known !== undefined && known.crc !== crc) {
        throw new BrokenInvariant(
          `R2: ${replica} commits entry ${sequence} of epoch ${epoch}; before it was one of epoch ${known.epoch}`,
        )
      }
      if (this.#refused.has(`${sequence}/${crc}`)) throw takenBack(sequence, epoch)
      this.#committed[sequence] = { crc, epoch }
    }
    const last = entries.at(-1)?.sequence ?? 0
    if (last < (this.#committedBy.get(replica) ?? 0)) {
      throw new BrokenInvariant(`R4: ${replica} commits ${last} again`)
    }
    this.#committedBy.set(replica, last)
    this.note(`commits ${replica} ${last}`)
  }

  acknowledges({ sequence, crc }: LogPosition): void {
    if (this.#committed[sequence]?.crc !== crc) {
      throw new BrokenInvariant(`R2: entry ${sequence} is acknowledged and not committed`)
    }
    this.#acknowledged.set(sequence, crc)
    this.#acknowledgedMax = Math.max(this.#acknowledgedMax, sequence)
    this.acknowledgedWrites += 1
  }

  /** An entry that was appended and is never committed, as its writer hears. */
  refuses({ sequence, epoch, crc }: LogPosition): void {
    if (this.#committed[sequence]?.crc === crc) throw takenBack(sequence, epoch)
    this.#refused.add(`${sequence}/${crc}`)
    this.refusedWrites += 1
  }

  /** INV-R9: `floor` is the last sequence acknowledged when the read was asked for. */
  reads(replica: string, { seen, floor }: { seen: number; floor: number }): void {
    this.servedReads += 1
    this.note(`reads ${replica} ${seen}`)
    if (seen >= floor) return
    throw new BrokenInvariant(`R9: ${replica} read up to ${seen}, and ${floor} was acknowledged`)
  }

  /** At the end: every acknowledged write is in this log, or before its base. */
  holdsAll(replica: string, crcAt: (sequence: number) => number | undefined, base: number): void {
    for (const [sequence, crc] of this.#acknowledged) {
      if (sequence > base && crcAt(sequence) !== crc) {
        throw new BrokenInvariant(`R2: ${replica} lacks the acknowledged entry ${sequence}`)
      }
    }
  }
}

function takenBack(sequence: number, epoch: number): BrokenInvariant {
  return new BrokenInvariant(`R2: entry ${sequence} of epoch ${epoch} is refused and committed`)
}
