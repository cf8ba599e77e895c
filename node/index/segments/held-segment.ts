import type { Sliced } from '../../../lib/sliced.ts'

/**
 * A segment that does not change, with the number of its readers. Contract, checked for every kind by
 * test/conformance/segmented-index.ts:
 * - The index that opened it is its first reader. It gives up its files and memory with its last reader.
 * - What is asked after that is undefined.
 */
export abstract class HeldSegment {
  abstract readonly docCount: number
  /** 0 for a segment in memory. */
  abstract readonly bytesOnDisk: number
  abstract readonly bytesInMemory: number
  #readers = 1
  #onClosed: (() => void) | undefined

  /** Adds a reader. */
  retain(): void {
    this.#readers += 1
  }

  /** Takes a reader away. */
  close(): void {
    this.#readers -= 1
    if (this.#readers > 0) return
    this.closeFiles()
    this.#onClosed?.()
  }

  /** Takes the first reader away, and calls back when there is none left: at once, if there is no other. */
  closeThen(onClosed: () => void): void {
    this.#onClosed = onClosed
    this.close()
  }

  /** Takes into memory what searches are faster with, if there is room for it now. It is not closed meanwhile. */
  *warm(): Sliced<void> {}

  protected abstract closeFiles(): void
}
