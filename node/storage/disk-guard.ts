// Refuses writes before the operating system does. A write that meets the end of the disk leaves a
// torn log and a database that must be reopened. An early refusal leaves nothing behind.

import { statfsSync } from 'node:fs'
import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'

/** Room for work that is already promised: flushing memory, merging tables, and a clean close. */
const RESERVE_BYTES = 64 * 1024 * 1024
const CHECK_PERIOD_MS = 250
/** Under load the disk can fill within one period, so the written bytes count as well. */
const CHECK_WRITTEN_BYTES = 8 * 1024 * 1024

/**
 * The part of Node's `StatFs` that the guard reads: all blocks, those that this process may still write, and the size
 * of a block in bytes.
 */
export interface FileSystemRoom {
  readonly blocks: number
  readonly bavail: number
  readonly bsize: number
}

/** A file system as a process sees that is not root: what is kept back for root is not free. */
export interface DiskRoom {
  readonly totalBytes: number
  readonly freeBytes: number
}

/**
 * Throws DISK_FULL when the disk has no room for `bytes` more. With `frees` the write makes room in the end, as
 * deletions do, and may use half of the reserve: otherwise a full disk would stay full.
 */
export type AdmitWrite = (bytes: number, frees: boolean) => void

/** What the guard watches. `reserveBytes` stay free; the default is RESERVE_BYTES. */
export interface DiskGuardOptions {
  readonly directory: string
  readonly clock: Clock
  readonly reserveBytes?: number
  /** The default is the system call. It takes microseconds, so it may be synchronous. */
  readonly statfs?: (directory: string) => FileSystemRoom
}

/**
 * Guards one file system. All stores on it may share one guard, and each reports the bytes of a
 * write in advance.
 */
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

  /**
   * Throws DISK_FULL unless `bytes` fit beside the reserve. A refused write does not count as
   * written. `frees`: see AdmitWrite.
   */
  assertRoomFor(bytes: number, frees = false): void {
    const reserveBytes = this.#reserveOf(frees)
    if (this.#isStale(bytes)) this.#measure()
    if (!this.#fits(bytes, reserveBytes)) {
      // The last measurement may be old. Only a fresh one may refuse.
      this.#measure()
      if (!this.#fits(bytes, reserveBytes)) throw this.#refusal()
    }
    this.#writtenBytes += bytes
  }

  /** Measures again and answers whether `bytes` fit beside the reserve, or half of it. */
  hasRoomFor(bytes: number, frees = false): boolean {
    this.#measure()
    return this.#fits(bytes, this.#reserveOf(frees))
  }

  #reserveOf(frees: boolean): number {
    return frees ? this.#reserveBytes / 2 : this.#reserveBytes
  }

  /** The free bytes of the file system, with the reserve. Measured at the call. */
  freeBytes(): number {
    return roomOf(this.#statfs(this.#directory)).freeBytes
  }

  /** For people and programs that look on. Measured at the call; undefined if the file system does not say. */
  room(): DiskRoom | undefined {
    try {
      return roomOf(this.#statfs(this.#directory))
    } catch {
      return undefined // a write will meet the same, and tell
    }
  }

  #isStale(bytes: number): boolean {
    const ageMs = this.#clock.monotonicMs() - this.#checkedAtMs
    return ageMs >= CHECK_PERIOD_MS || this.#writtenBytes + bytes >= CHECK_WRITTEN_BYTES
  }

  #fits(bytes: number, reserveBytes: number): boolean {
    return this.#freeBytes - this.#writtenBytes - bytes >= reserveBytes
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

function roomOf({ blocks, bavail, bsize }: FileSystemRoom): DiskRoom {
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}
