// Documents of an index, in memory or sealed, and which of them are deleted.
//
// Invariants:
//   LV1  The bits have exactly the documents named in `log`, each once.
//   LV2  The first `checkpointed` entries of the log are those of the last checkpoint: a merge leaves these out, and no
//        others.
//   LV3  Bits that were handed out do not change: they are copied before the next deletion.

import { must } from '../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { hasBit, newBitset, nextBit, setBit, type Bitset } from '../encoding/bitset.ts'
import { GrowableUint32 } from '../encoding/growable.ts'

/** Documents by number. They may grow in number; what a number names does not change. */
export interface PartSource {
  readonly docCount: number
  readonly bytesInMemory: number
}

/** Makes the memory of a log and of bits: such as other threads read as well, where they read the part. */
export type AllocateWords = (length: number) => Uint32Array

const ownWords: AllocateWords = (length) => new Uint32Array(length)

/** The index that has the part deletes from it; searches look at what they were handed out. */
export class LivePart<Source extends PartSource = PartSource> {
  readonly source: Source
  /** The deleted documents, in the order of their deletion. */
  readonly log: GrowableUint32
  checkpointed = 0
  readonly #allocate: AllocateWords
  #bits: Bitset
  #isHandedOut = false

  constructor(source: Source, allocate: AllocateWords = ownWords) {
    this.source = source
    this.#allocate = allocate
    this.log = new GrowableUint32(allocate)
    this.#bits = allocate((source.docCount + 31) >>> 5)
  }

  get liveCount(): number {
    return this.source.docCount - this.log.length
  }

  get bytesInMemory(): number {
    return this.source.bytesInMemory + this.log.length * 4 + this.#bits.byteLength
  }

  isDeleted(doc: number): boolean {
    return hasBit(this.#bits, doc)
  }

  /** A document deleted before stays so. */
  delete(doc: number): void {
    if (hasBit(this.#bits, doc)) return
    if (this.#isHandedOut || doc >>> 5 >= this.#bits.length) this.#renewBits(doc)
    setBit(this.#bits, doc)
    this.log.push(doc)
  }

  /** The deleted documents now, for good (LV3). */
  handOutBits(): Bitset {
    this.#isHandedOut = true
    return this.#bits
  }

  /** What had been deleted when the log had this many entries. */
  deletedAt(logLength: number): Bitset {
    const bits = newBitset(this.source.docCount)
    for (let i = 0; i < logLength; i += 1) setBit(bits, this.log.values[i] ?? 0)
    return bits
  }

  /** Deletes what was deleted at the last checkpoint; for a segment just opened. */
  restoreDeleted(bits: Bitset): void {
    const { docCount } = this.source
    let doc = nextBit(bits, 0, docCount)
    for (; doc < docCount; doc = nextBit(bits, doc + 1, docCount)) this.delete(doc)
    this.checkpointed = this.log.length
  }

  /** LV3; a part that grows needs more of them besides. */
  #renewBits(doc: number): void {
    const known = this.#bits.length
    const words = doc >>> 5 < known ? known : Math.max(known * 2, (doc >>> 5) + 1)
    const bits = this.#allocate(words)
    bits.set(this.#bits)
    this.#bits = bits
    this.#isHandedOut = false
  }
}

const DELETIONS_PER_STEP = 8192

/** Deletions of the parts that a segment was written from become those of the segment: the checkpoint's first (LV2). */
export class CarriedDeletions {
  readonly #inputs: readonly LivePart[]
  readonly #target: LivePart
  /** By input, the new number of each document; -1 for those left out. */
  readonly #numbers: readonly Int32Array[]
  /** By input, how much of its log was looked at. */
  readonly #carried: number[]

  constructor(inputs: readonly LivePart[], target: LivePart, numbers: readonly Int32Array[]) {
    this.#inputs = inputs
    this.#target = target
    this.#numbers = numbers
    this.#carried = inputs.map(() => 0)
  }

  *carryMost(): Sliced<void> {
    const meter = new StepMeter(DELETIONS_PER_STEP)
    for (const [i, input] of this.#inputs.entries()) {
      for (; this.#count(i) < input.checkpointed; this.#carry(i)) if (meter.spend(1)) yield
    }
  }

  /** In one step: another checkpoint may have come meanwhile, and none may come before the segment has its place. */
  carryRest(): void {
    for (const [i, input] of this.#inputs.entries()) {
      while (this.#count(i) < input.checkpointed) this.#carry(i)
    }
    this.#target.checkpointed = this.#target.log.length
    for (const [i, { log }] of this.#inputs.entries()) {
      while (this.#count(i) < log.length) this.#carry(i)
    }
  }

  #count(i: number): number {
    return this.#carried[i] ?? 0
  }

  #carry(i: number): void {
    const at = this.#count(i)
    const doc = must(this.#inputs[i], 'an input').log.values[at] ?? 0
    const number = must(this.#numbers[i], 'the numbers of an input')[doc] ?? -1
    if (number >= 0) this.#target.delete(number)
    this.#carried[i] = at + 1
  }
}
