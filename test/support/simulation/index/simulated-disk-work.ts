// The disk of a simulated worker: a sync is done at any moment after it was asked for, and others may be done before.

import { closeSync, fsyncSync } from 'node:fs'
import type { DiskWork, OnSynced } from '../../../../node/index/files/disk-work.ts'
import type { NodeClock } from '../cluster/node-clock.ts'
import type { Dice } from '../dice.ts'

/** Most are quick; a disk that is busy takes long. */
const SYNC_MS = [0.05, 3] as const
const SLOW_MS = [20, 400] as const
const SLOW_SHARE = 0.1

export class SimulatedDiskWork implements DiskWork {
  readonly #clock: NodeClock
  readonly #dice: Dice
  readonly #syncing = new Set<OnSynced>()

  constructor({ clock, dice }: { readonly clock: NodeClock; readonly dice: Dice }) {
    this.#clock = clock
    this.#dice = dice
  }

  sync(fd: number, onSynced: OnSynced): void {
    this.#syncing.add(onSynced)
    const [least, most] = this.#dice.chance(SLOW_SHARE) ? SLOW_MS : SYNC_MS
    this.#clock.after(this.#dice.between(least, most), () => {
      if (!this.#syncing.delete(onSynced)) return
      fsyncSync(fd)
      onSynced(undefined)
    })
  }

  close(fd: number): void {
    closeSync(fd)
  }

  /** The worker ends: what it waits for is over, so that its descriptors are closed. */
  end(): void {
    for (const onSynced of this.#syncing) onSynced(undefined)
    this.#syncing.clear()
  }
}
