import type { ClusterView } from './view/cluster-view.ts'
import { urgencyOf } from './decisions/decide.ts'
import type { ShardView } from './view/shard-view.ts'
import { URGENCIES, type Urgency } from './decisions/step.ts'

/** The shards for which something has to be done, by urgency, those that waited longest first. */
export class StepQueue {
  readonly #buckets = new Map<Urgency, Set<ShardView>>(
    URGENCIES.map((urgency) => [urgency, new Set<ShardView>()]),
  )
  readonly #urgencies = new Map<ShardView, Urgency>()

  /** The most urgent first. */
  get buckets(): Iterable<readonly [Urgency, ReadonlySet<ShardView>]> {
    return this.#buckets
  }

  /** Finds out what the shard needs now. */
  put(shard: ShardView, cluster: ClusterView): void {
    const urgency = urgencyOf(shard, cluster)
    if (urgency === undefined && shard.move === undefined) shard.waits = undefined
    if (urgency === this.#urgencies.get(shard)) return
    this.remove(shard)
    if (urgency === undefined) return
    this.#urgencies.set(shard, urgency)
    this.#buckets.get(urgency)?.add(shard)
  }

  /** Lets the others of its urgency come before it. */
  putLast(shard: ShardView): void {
    const urgency = this.#urgencies.get(shard)
    const bucket = urgency === undefined ? undefined : this.#buckets.get(urgency)
    bucket?.delete(shard)
    bucket?.add(shard)
  }

  remove(shard: ShardView): void {
    const urgency = this.#urgencies.get(shard)
    if (urgency === undefined) return
    this.#urgencies.delete(shard)
    this.#buckets.get(urgency)?.delete(shard)
  }
}
