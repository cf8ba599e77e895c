// What the disk does for longer than a step: it is asked here, and a searching thread does not wait for it.

import { close, closeSync, fsync, fsyncSync } from 'node:fs'

/** Hears how a sync ended. */
export type OnSynced = (error: Error | undefined) => void

/**
 * Syncs and closes files.
 *
 * Contract, checked for every implementation by test/conformance/disk-work.ts:
 * - `sync` makes durable what was written to an open file before the call, or the names in an open directory.
 *   `onSynced` is called once: before `sync` returns, or later from the event loop. Syncs may end in any order.
 *   The descriptor stays open until then.
 * - `close` ends the use of a descriptor for good. To free the blocks of a removed file takes as long as it is
 *   large, so the space may come back later. It never fails: there is nothing to lose.
 */
export interface DiskWork {
  sync(fd: number, onSynced: OnSynced): void
  close(fd: number): void
}

/** In the thread that asks: for threads that nobody waits for, and for tests. */
export const DISK_WORK_HERE: DiskWork = {
  sync(fd, onSynced) {
    try {
      syncHere(fd)
    } catch (error) {
      onSynced(errorOf(error))
      return
    }
    onSynced(undefined)
  },
  close: (fd) => closeSync(fd),
}

/** Waits in this thread until the file is durable. */
export function syncHere(fd: number): void {
  fsyncSync(fd)
}

/**
 * On the thread pool of the process, one sync at a time: the journal and every other worker need the pool too, and
 * a disk that is slow gets no faster by being asked more.
 */
export class PooledDiskWork implements DiskWork {
  /** Bounded by the indexes of the worker: each syncs one file for its flush, and one for its merge. */
  readonly #waiting: (() => void)[] = []
  #isSyncing = false

  sync(fd: number, onSynced: OnSynced): void {
    this.#waiting.push(() => {
      fsync(fd, (error) => {
        this.#isSyncing = false
        this.#next()
        onSynced(error ?? undefined)
      })
    })
    this.#next()
  }

  close(fd: number): void {
    close(fd, () => undefined)
  }

  #next(): void {
    if (this.#isSyncing) return
    const begin = this.#waiting.shift()
    this.#isSyncing = begin !== undefined
    begin?.()
  }
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
