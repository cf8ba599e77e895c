import type { CacheCounts } from '../../host/worker-report.ts'

/** Some tens of microseconds to read, some hundreds to compare with. */
export const BLOCK_BYTES = 128 * 1024

/**
 * The memory for vectors and codes of one worker: some segments keep theirs, and all others share a buffer to read
 * into.
 */
export class BlockMemory implements CacheCounts {
  readonly #bytesMax: number
  #floats = new Float32Array(BLOCK_BYTES / 4)
  /** What segments have reserved. */
  bytes = 0
  /** Rows that were answered from memory, and rows that were read. */
  hits = 0
  misses = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** False if less is left. `share` (0 to 1) takes only this part of the memory for the whole. */
  reserve(bytes: number, share = 1): boolean {
    if (this.bytes + bytes > this.#bytesMax * share) return false
    this.bytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes
  }

  /** A search compares with a block before the next one is read. */
  bufferOf(length: number): Float32Array<ArrayBuffer> {
    if (this.#floats.length < length) this.#floats = new Float32Array(length)
    return this.#floats
  }
}
