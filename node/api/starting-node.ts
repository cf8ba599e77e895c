import type { BytesReply } from '../../lib/http/reply.ts'
import { NO_INDEXES } from '../steering/index-summary.ts'
import type { ShardedStore } from '../store/sharded-store.ts'
import type { StartProgress } from '../catalog/admin/table-admin.ts'
import { readinessReply } from './readiness-reply.ts'

type Served = Pick<ShardedStore, 'ready' | 'indexCounts'>

type Stage =
  | { readonly kind: 'opening'; readonly progress: StartProgress | undefined }
  /** `mayServe` answers whether clients and other nodes are to come. */
  | { readonly kind: 'open'; readonly store: Served; readonly mayServe: () => boolean }

/** What the health port says of a node from its first second to its last. */
export class StartingNode {
  #stage: Stage = { kind: 'opening', progress: undefined }

  /** Tables are opened, and `progress` says how many are open. */
  opens(progress: StartProgress): void {
    this.#stage = { kind: 'opening', progress }
  }

  /** `isReached` answers whether the nodes of its cluster reach this one. */
  serves(store: Served, isReached: () => boolean = () => true): void {
    this.#stage = { kind: 'open', store, mayServe: isReached }
  }

  stops(): void {
    if (this.#stage.kind === 'open') this.#stage = { ...this.#stage, mayServe: () => false }
  }

  readiness(): BytesReply {
    const stage = this.#stage
    if (stage.kind === 'opening') return readinessReply(false, NO_INDEXES, stage.progress)
    const { store, mayServe } = stage
    return readinessReply(store.ready() && mayServe(), store.indexCounts())
  }
}
