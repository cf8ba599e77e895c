// Memory that the requests under way hold: bodies that arrive and answers that wait to be read.
//
// Invariants:
//   MB1  `heldBytes` is the sum over all holdings, and never more than `bytesMax`.
//   MB2  A holding that is closed holds nothing and takes nothing more.
//   MB3  An upload loses its place only when somebody else needs it and the upload is slow.

import { ServiceError } from '../errors.ts'
import type { Clock } from '../clock.ts'

const MIB = 1024 * 1024
const GIB = 1024 * MIB
const DEFAULT_PART_OF_MACHINE = 4
/** The largest request has to fit beside others. */
export const REQUEST_MEMORY_BYTES_MIN = 128 * MIB

/** An upload's speed is looked at over this time. */
export const PACE_WINDOW_MS = 2_000
/** Slower uploads give way when memory is short. */
export const PACE_BYTES_PER_WINDOW_MIN = 256 * 1024

/** A quarter of the machine's memory, at most 1 GiB. */
export function defaultRequestMemoryBytes(machineBytes: number): number {
  const share = Math.floor(machineBytes / DEFAULT_PART_OF_MACHINE)
  return Math.max(REQUEST_MEMORY_BYTES_MIN, Math.min(share, GIB))
}

/** An upload that can be told to give up. */
export interface Upload {
  isSlow(nowMs: number): boolean
  /** Rejects the upload and releases what it holds. */
  giveUp(reason: ServiceError): void
}

/**
 * The budget of all requests of a server together. One instance serves every door of the server.
 *
 * Contract:
 * - `hold` opens a holding, which its owner closes (`using`, or `[Symbol.dispose]`) when the request
 *   is answered; a holding that is not closed is a leak.
 * - `HeldMemory.add` throws OVERLOADED when the budget has no room, after uploads that are slow have
 *   been told to give up. Then nothing was added.
 */
export class RequestMemory {
  readonly bytesMax: number
  readonly #clock: Clock
  readonly #uploads = new Set<Upload>()
  #heldBytes = 0

  constructor(options: { readonly bytesMax: number; readonly clock: Clock }) {
    this.bytesMax = options.bytesMax
    this.#clock = options.clock
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  get clock(): Clock {
    return this.#clock
  }

  hold(): HeldMemory {
    return new HeldMemory(this)
  }

  /** The upload may be told to give up until it is forgotten. */
  watch(upload: Upload): void {
    this.#uploads.add(upload)
  }

  forget(upload: Upload): void {
    this.#uploads.delete(upload)
  }

  /** For holdings alone. */
  take(bytes: number): void {
    if (this.#heldBytes + bytes > this.bytesMax) this.#makeRoom(bytes)
    this.#heldBytes += bytes
  }

  /** For holdings alone. */
  give(bytes: number): void {
    this.#heldBytes -= bytes
  }

  #makeRoom(bytes: number): void {
    const nowMs = this.#clock.monotonicMs()
    for (const upload of this.#uploads) {
      if (this.#heldBytes + bytes <= this.bytesMax) return
      if (upload.isSlow(nowMs)) upload.giveUp(tooSlow())
    }
    if (this.#heldBytes + bytes > this.bytesMax) throw noRoom()
  }
}

/** What one request holds. */
export class HeldMemory implements Disposable {
  readonly budget: RequestMemory
  #bytes = 0
  #isClosed = false

  constructor(budget: RequestMemory) {
    this.budget = budget
  }

  get bytes(): number {
    return this.#bytes
  }

  add(bytes: number): void {
    if (this.#isClosed) throw noRoom()
    this.budget.take(bytes)
    this.#bytes += bytes
  }

  /**
   * As `add`, for work that ends when it is refused: then nothing is held any more, at once. Computations that share a
   * turn of the event loop would all be refused otherwise, before the first of them has been answered.
   */
  addOrEnd(bytes: number): void {
    try {
      this.add(bytes)
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  release(bytes: number): void {
    const given = Math.min(bytes, this.#bytes)
    this.#bytes -= given
    this.budget.give(given)
  }

  [Symbol.dispose](): void {
    this.release(this.#bytes)
    this.#isClosed = true
  }
}

/**
 * What one part of the work for a request holds now, such as the rows that a scan has read and not sent. It is a part of
 * the request's holding, and charges nobody when there is none.
 */
export class HeldPart implements Disposable {
  readonly #memory: HeldMemory | undefined
  #bytes = 0

  constructor(memory: HeldMemory | undefined) {
    this.#memory = memory
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Throws OVERLOADED as `HeldMemory.add` does; the part is then as large as before. */
  set(bytes: number): void {
    if (bytes > this.#bytes) this.#memory?.add(bytes - this.#bytes)
    else this.#memory?.release(this.#bytes - bytes)
    this.#bytes = bytes
  }

  [Symbol.dispose](): void {
    this.set(0)
  }
}

/** How fast an upload has been lately. */
export class Pace {
  #windowStartMs: number
  #windowBytes = 0
  #wasSlow = false

  constructor(nowMs: number) {
    this.#windowStartMs = nowMs
  }

  note(bytes: number, nowMs: number): void {
    if (nowMs - this.#windowStartMs >= PACE_WINDOW_MS) {
      this.#wasSlow = this.#isWindowSlow(nowMs)
      this.#windowStartMs = nowMs
      this.#windowBytes = 0
    }
    this.#windowBytes += bytes
  }

  isSlow(nowMs: number): boolean {
    const isWhole = nowMs - this.#windowStartMs >= PACE_WINDOW_MS
    return isWhole ? this.#isWindowSlow(nowMs) : this.#wasSlow
  }

  #isWindowSlow(nowMs: number): boolean {
    const windows = (nowMs - this.#windowStartMs) / PACE_WINDOW_MS
    return this.#windowBytes < windows * PACE_BYTES_PER_WINDOW_MIN
  }
}

function noRoom(): ServiceError {
  return new ServiceError(
    'OVERLOADED',
    'the requests under way hold all the memory there is for them; try again in a moment',
  )
}

function tooSlow(): ServiceError {
  return new ServiceError(
    'OVERLOADED',
    'the body arrived too slowly while memory was short; send it again',
  )
}
