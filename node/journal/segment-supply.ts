// Allocates segments in advance, so that no write waits for zeros. Reuses segments that no log
// needs.

import { ServiceError } from '../../lib/errors.ts'
import type { JournalDirectory } from './journal-directory.ts'

import { Segment } from './journal-segment.ts'

/** How many spare segments lie ready. More would only use disk space. */
const SPARES_MAX = 2

/** How to make segments, and the spares that recovery found. */
export interface SegmentSupplyOptions {
  readonly directory: JournalDirectory
  readonly segmentBytes: number
  /** Whether the file system has this much room beside its reserve. */
  readonly hasRoomFor: (bytes: number) => boolean
  readonly spares: readonly string[]
  readonly nextNumber: number
}

/** Supplies the journal with allocated segments. */
export class SegmentSupply {
  readonly #with: SegmentSupplyOptions
  readonly #ready: Segment[] = []
  #nextNumber: number
  #leftovers: readonly string[]
  /** Changes of the directory run one after the other. */
  #working: Promise<void> = Promise.resolve()
  #preparing: Promise<void> | undefined

  constructor(options: SegmentSupplyOptions) {
    this.#with = options
    this.#nextNumber = options.nextNumber
    this.#leftovers = options.spares
  }

  /**
   * Takes a segment of at least `bytes`. It is allocated, and its directory entry is durable. Fails
   * with DISK_FULL if the disk has no room for one.
   */
  async take(bytes: number): Promise<Segment> {
    const next = this.#ready[0]
    if (next !== undefined && next.bytes >= bytes) {
      this.#ready.shift()
      return next
    }
    return this.#inTurn(() => this.#takeInTurn(bytes))
  }

  /**
   * Segments are used in the order of their numbers, so a segment that is too small is skipped and
   * not used later.
   */
  async #takeInTurn(bytes: number): Promise<Segment> {
    for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) {
      if (next.bytes >= bytes) return next
      await this.#with.directory.remove(next.name)
    }
    return this.#allocate(Math.max(bytes, this.#with.segmentBytes))
  }

  /** Allocates in the background until enough segments lie ready or the disk is full. */
  prepare(): void {
    if (this.#preparing !== undefined || this.#ready.length >= SPARES_MAX) return
    this.#preparing = this.#inTurn(() => this.#fill())
      .catch(() => undefined) // `take` gets the same error and reports it
      .finally(() => {
        this.#preparing = undefined
      })
  }

  /** Takes back a segment that no log needs. Reuses it or removes it. */
  async giveBack(segment: Segment): Promise<void> {
    await this.#inTurn(async () => {
      const isUseful = this.#ready.length < SPARES_MAX && segment.bytes === this.#with.segmentBytes
      if (!isUseful) return this.#remove(segment.name)
      const { directory } = this.#with
      const renewed = new Segment(this.#nextNumber++, segment.bytes)
      await directory.rename(segment.name, renewed.name)
      // Syncs before the next rename, so that a power failure brings back one old segment at most.
      await directory.sync()
      this.#ready.push(renewed)
    })
  }

  /** Resolves when no allocation or removal runs. */
  async idle(): Promise<void> {
    await this.#preparing
    await this.#working
  }

  async #fill(): Promise<void> {
    while (this.#ready.length < SPARES_MAX) {
      this.#ready.push(await this.#allocate(this.#with.segmentBytes))
    }
  }

  async #allocate(bytes: number): Promise<Segment> {
    await this.#removeLeftovers()
    const { directory, hasRoomFor } = this.#with
    if (!hasRoomFor(bytes)) {
      throw new ServiceError(
        'DISK_FULL',
        'the disk is full: the journal needs a new segment; writes resume when there is room',
      )
    }
    const segment = new Segment(this.#nextNumber++, bytes)
    await directory.allocate(segment.name, bytes)
    await directory.sync()
    return segment
  }

  /**
   * Removes the spares of the last run. They may have another size, and numbers that are too low by
   * now.
   */
  async #removeLeftovers(): Promise<void> {
    const leftovers = this.#leftovers
    this.#leftovers = []
    for (const name of leftovers) await this.#with.directory.remove(name)
  }

  async #remove(name: string): Promise<void> {
    await this.#with.directory.remove(name)
    await this.#with.directory.sync()
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#working.then(work)
    this.#working = done.then(
      () => undefined,
      () => undefined,
    )
    return done
  }
}
