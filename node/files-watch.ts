// Loads the files of a node again by itself when what they hold has changed.
//
//   every interval: look ─► in use? ─ yes ─► nothing
//                             └ no ─► a tenth of the interval later: look ─► the same? ─ yes ─► load
//                                                                              └ no ─► the next round
//
// By content and by a clock: a kubelet replaces a directory by a link, which watchers of files miss, and network file
// systems tell of no change at all.
//
// Invariants:
//   FW1  A change is loaded when two looks in a row have seen the same: who writes several files may be in the
//        middle of it at the first.
//   FW2  What cannot be loaded is logged once for each reason, and tried again in each round. What is in use stays so.
//   FW3  The level of the log stays as it is: one that was asked for holds until somebody asks again.

import { InvariantError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { ConfigurationError } from '../lib/options.ts'
import type { Random } from '../lib/random.ts'
import type { FilesSeen } from './loaded-files.ts'

/** Nodes that have started together do not look at a shared file system together. */
const JITTER = 0.2
const SETTLE_PART = 10

interface WatchParts {
  readonly look: () => Promise<FilesSeen>
  /** As a reload does it. */
  readonly load: () => Promise<unknown>
  readonly intervalMs: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Looks from its construction on. */
export class FilesWatch {
  readonly #with: WatchParts
  readonly #stop = new AbortController()
  readonly #stopRounds: () => Promise<void>
  #told: string | undefined

  constructor(parts: WatchParts) {
    this.#with = parts
    const periodMs = parts.intervalMs * (1 - JITTER / 2 + JITTER * parts.random())
    this.#stopRounds = parts.clock.every(periodMs, () => this.#round())
  }

  /** Resolves when nothing is looked at or loaded any more. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#stopRounds()
  }

  async #round(): Promise<void> {
    try {
      const change = await this.#change()
      if (change === 'goes on') return
      if (change === 'settled') await this.#with.load()
      this.#told = undefined
    } catch (error) {
      if (error instanceof InvariantError) throw error
      if (!this.#stop.signal.aborted) this.#tell(reasonOf(error))
    }
  }

  /** FW1. */
  async #change(): Promise<'none' | 'goes on' | 'settled'> {
    const { look, clock, intervalMs } = this.#with
    const first = await look()
    if (first.isInUse) return 'none'
    await clock.sleep(intervalMs / SETTLE_PART, this.#stop.signal)
    const second = await look()
    if (second.isInUse) return 'none'
    return first.digest === second.digest ? 'settled' : 'goes on'
  }

  /** FW2. */
  #tell(error: string): void {
    if (error === this.#told) return
    this.#told = error
    this.#with.log.warn('changed files are not loaded yet', { error })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof ConfigurationError ? error.problems.join('; ') : messageOf(error)
}
