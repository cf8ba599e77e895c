import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import { shardsOf } from './cluster-rest.ts'
import type { SimulatedNode } from './simulated-node.ts'

/** Looks at all processes now and then, and keeps what must never be seen. */
export class ClusterWatch {
  readonly broken: string[] = []
  readonly #served = new Map<string, string>()
  /** By replica: one that is removed and comes again begins anew. */
  readonly #committed = new WeakMap<LocalShard, number>()

  look(nodes: readonly SimulatedNode[]): void {
    const shards = shardsOf(nodes)
    for (const node of nodes) {
      if (node.failures.length > 0) this.broken.push(`${node.id}: ${node.failures.join('; ')}`)
      const { host, identity } = node.life ?? {}
      if (host === undefined || identity === undefined) continue
      for (const { id } of shards) {
        const shard = host.find(id)
        if (shard !== undefined) this.#see(shard, `${node.id}/${identity.incarnation}`)
      }
    }
  }

  /** INV-R1: one leader in an epoch. INV-R4: what is committed stays. */
  #see(shard: LocalShard, place: string): void {
    const { replicated, id } = shard
    if (replicated === undefined) return
    const { log, isServing } = replicated
    const before = this.#committed.get(shard) ?? 0
    if (log.committed < before) this.broken.push(`R4: ${place} has committed less of ${id}`)
    this.#committed.set(shard, log.committed)
    if (!isServing) return
    const served = `${id} in epoch ${log.epoch}`
    const other = this.#served.get(served) ?? place
    if (other !== place) this.broken.push(`R1: ${other} and ${place} serve ${served}`)
    this.#served.set(served, place)
  }
}
