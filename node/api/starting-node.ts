import type { BytesReply } from '../../lib/http/reply.ts'
import { NO_INDEXES } from '../coordinator/tables/index-summary.ts'
import type { SwarmStore } from '../coordinator/swarm-store.ts'
import type { StartProgress } from '../coordinator/tables/table-admin.ts'
import { readinessReply } from './readiness-reply.ts'

type Served = Pick<SwarmStore, 'ready' | 'indexCounts'>

/** What the health port says of a node from its first second to its last. */
export class StartingNode {
  #progress: StartProgress | undefined
  #store: Served | undefined
  #isStopping = false

  /** Tables are opened, and so many are open. */
  opens(progress: StartProgress): void {
    this.#progress = progress
  }

  serves(store: Served): void {
    this.#store = store
    this.#progress = undefined
  }

  stops(): void {
    this.#isStopping = true
  }

  readiness(): BytesReply {
    const store = this.#store
    if (store === undefined) return readinessReply(false, NO_INDEXES, this.#progress)
    return readinessReply(store.ready() && !this.#isStopping, store.indexCounts())
  }
}
