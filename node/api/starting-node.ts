import type { BytesReply } from '../../lib/http/reply.ts'
import { NO_INDEXES } from '../steering/index-summary.ts'
import type { SwarmStore } from '../store/swarm-store.ts'
import type { StartProgress } from '../catalog/admin/table-admin.ts'
import { readinessReply } from './readiness-reply.ts'

type Served = Pick<SwarmStore, 'ready' | 'indexCounts'>

/** What the health port says of a node from its first second to its last. */
export class StartingNode {
  #progress: StartProgress | undefined
  #store: Served | undefined
  #isReached: () => boolean = () => true
  #isStopping = false

  /** Tables are opened, and `progress` says how many are open. */
  opens(progress: StartProgress): void {
    this.#progress = progress
  }

  /** `isReached` answers whether the nodes of its cluster reach this one. */
  serves(store: Served, isReached: () => boolean = () => true): void {
    this.#store = store
    this.#isReached = isReached
    this.#progress = undefined
  }

  stops(): void {
    this.#isStopping = true
  }

  readiness(): BytesReply {
    const store = this.#store
    if (store === undefined) return readinessReply(false, NO_INDEXES, this.#progress)
    const isReady = store.ready() && this.#isReached() && !this.#isStopping
    return readinessReply(isReady, store.indexCounts())
  }
}
