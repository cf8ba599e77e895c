// Refuses writes before the operating system does. A write that meets the real end of the disk
// leaves a torn log and a database that must be reopened; a refusal up front leaves nothing.

import { statfsSync } from 'node:fs'
import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'

/** Room for what is already promised: flushing memory, merging tables, and closing in order. */
const RESERVE_BYTES = 64 * 1024 * 1024
const CHECK_PERIOD_MS = 250
/** Under load the disk can fill between two periods, so the bytes written count as well. */
const CHECK_WRITTEN_BYTES = 8 * 1024 * 1024

export interface FileSystemRoom {
  readonly bavail: number
  readonly bsize: number
}

export interface DiskGuardOptions {
  readonly directory: string
  readonly clock: Clock
  readonly reserveBytes?: number
  /** Default: the system call. Microseconds, so it may be synchronous. */
  readonly statfs?: (directory: string) => FileSystemRoom
}

/** One guard may serve all stores on one file system: each tells it what it is about to write. */
export class DiskGuard {
  readonly #directory: string
  readonly #clock: Clock
  readonly #reserveBytes: number
  readonly #statfs: (directory: string) => FileSystemRoom
  #freeBytes = 0
  #writtenBytes = 0
  #checkedAtMs = -Infinity

  constructor(options: DiskGuardOptions) {
    this.#directory = options.directory
    this.#clock = options.clock
    this.#reserveBytes = options.reserveBytes ?? RESERVE_BYTES
    this.#statfs = options.statfs ?? ((directory) => statfsSync(directory))
  }

  /** DISK_FULL unless `bytes` more leave the reserve untouched. A refusal counts as not written. */
  assertRoomFor(bytes: number): void {
    if (this.#isStale(bytes)) this.#measure()
    if (!this.#fits(bytes)) {
      // The last answer may be old; only a fresh one may refuse.
      this.#measure()
      if (!this.#fits(bytes)) throw this.#refusal()
    }
    this.#writtenBytes += bytes
  }

  /** Like `assertRoomFor`, always with a fresh look, as a question. */
  hasRoomFor(bytes: number): boolean {
    this.#measure()
    return this.#fits(bytes)
  }

  /** What the file system has left for us, the reserve included; looked up at the call. */
  freeBytes(): number {
    const { bavail, bsize } = this.#statfs(this.#directory)
    return bavail * bsize
  }

  #isStale(bytes: number): boolean {
    const ageMs = this.#clock.monotonicMs() - this.#checkedAtMs
    return ageMs >= CHECK_PERIOD_MS || this.#writtenBytes + bytes >= CHECK_WRITTEN_BYTES
  }

  #fits(bytes: number): boolean {
    return this.#freeBytes - this.#writtenBytes - bytes >= this.#reserveBytes
  }

  #measure(): void {
    this.#freeBytes = this.freeBytes()
    this.#writtenBytes = 0
    this.#checkedAtMs = this.#clock.monotonicMs()
  }

  #refusal(): ServiceError {
    const free = `${mebibytes(this.#freeBytes)} free`
    const reserved = `${mebibytes(this.#reserveBytes)} reserved`
    return new ServiceError(
      'DISK_FULL',
      `the disk is full: ${free}, ${reserved}; writes resume when there is room`,
    )
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}
