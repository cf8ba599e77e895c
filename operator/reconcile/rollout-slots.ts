// How many clusters are rolled at a time: each rollout moves leaderships and restarts pods, and a change of many clusters at
// once, as by a script, must not do that everywhere.

import type { OperationType } from '../kinds/cluster/operation.ts'
import type { StoreClusterStatus } from '../kinds/cluster/status.ts'

const ROLLOUTS: readonly OperationType[] = ['Upgrade', 'ConfigChange', 'Restart']

/**
 * Contract:
 * - At most `max` keys hold a slot. Who holds one keeps it until `note` tells of a status without a rollout.
 * - After a restart of the operator each pass notes what its cluster's status says, whether a slot is free or not: the
 *   operator continues a rollout in flight.
 */
export class RolloutSlots {
  readonly #max: number
  readonly #rolling = new Set<string>()

  constructor(max: number) {
    this.#max = max
  }

  /** Whether this cluster may begin a rollout, or is in one. */
  mayRoll(key: string): boolean {
    return this.#rolling.has(key) || this.#rolling.size < this.#max
  }

  /** What a cluster's status says now, also between the decision and its write. `undefined`: it is gone. */
  note(key: string, status: StoreClusterStatus | undefined): void {
    const type = status?.operation?.type
    if (type !== undefined && ROLLOUTS.includes(type)) this.#rolling.add(key)
    else this.#rolling.delete(key)
  }
}
