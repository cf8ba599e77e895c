// Disk work that a test lets happen, in any order, late, or with a failure.

import { closeSync } from 'node:fs'
import {
  DISK_WORK_HERE,
  type DiskWork,
  type OnSynced,
} from '../../../node/index/files/disk-work.ts'

interface HeldSync {
  readonly fd: number
  readonly onSynced: OnSynced
}

export class HeldDiskWork implements DiskWork {
  readonly #held: HeldSync[] = []
  readonly #open = new Set<number>()
  /** Descriptors that were closed. */
  closed = 0

  /** How many syncs wait. */
  get heldCount(): number {
    return this.#held.length
  }

  /** Descriptors that were synced, and not closed yet. */
  get openCount(): number {
    return this.#open.size
  }

  sync(fd: number, onSynced: OnSynced): void {
    this.#open.add(fd)
    this.#held.push({ fd, onSynced })
  }

  close(fd: number): void {
    this.closed += 1
    this.#open.delete(fd)
    closeSync(fd)
  }

  /** Does one of the syncs that wait. */
  release(at = 0): void {
    const [held] = this.#held.splice(at, 1)
    if (held === undefined) throw new RangeError('no such sync waits')
    DISK_WORK_HERE.sync(held.fd, held.onSynced)
  }

  /** One of those that wait ends with an error. */
  fail(error: Error, at = 0): void {
    const [held] = this.#held.splice(at, 1)
    if (held === undefined) throw new RangeError('no such sync waits')
    held.onSynced(error)
  }
}
