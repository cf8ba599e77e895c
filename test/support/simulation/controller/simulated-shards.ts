// Shards as their leaders run them: members of the in-sync set get every entry, learners catch up, laggards
// leave. It stands for the replication core, whose own simulation shows that a leader behaves so.

import { must } from '../../../../lib/assert.ts'
import type { Random } from '../../../../lib/random.ts'
import {
  CONFIGURATION_PREFIX,
  configurationKey,
  decodeConfiguration,
  encodeConfiguration,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import {
  changedConfiguration,
  inSyncMember,
  isBelowMinimum,
  type InSyncChange,
  type ReplicaId,
  type ShardConfiguration,
} from '../../../../node/replication/core/configuration.ts'
import { holdersOf } from '../../../../node/replication/core/fit-leaders.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import type { SimulatedNode, SimulatedNodes } from './simulated-nodes.ts'
import type { SimulatedStore } from './simulated-store.ts'

const LAG_MAX_MS = 1500

interface CatchUp {
  readonly incarnation: number
  readonly untilMs: number
}

/** A shard as its replicas have it. */
export interface SimulatedShard {
  readonly path: string
  committed: number
  /** The epoch that has begun to serve. */
  epoch: number
  configuration: ShardConfiguration | undefined
  readonly catchUps: Map<string, CatchUp>
  /** Since when a member does not answer. */
  readonly silentSinceMs: Map<string, number>
}

/** Runs the leaders of all shards, and knows what was acknowledged. */
export class SimulatedShards {
  readonly all = new Map<string, SimulatedShard>()
  readonly #store: SimulatedStore
  readonly #nodes: SimulatedNodes
  readonly #random: Random
  readonly #unsteady = new Set<string>()
  #read = 0
  #changes = 0
  /** How long a learner takes to catch up, at most. */
  catchUpMaxMs = 2000

  constructor(store: SimulatedStore, nodes: SimulatedNodes, random: Random) {
    this.#store = store
    this.#nodes = nodes
    this.#random = random
  }

  /** What the store has of the shards; nodes delete what is not theirs any more. */
  follow(): void {
    const { events } = this.#store
    for (; this.#read < events.length; this.#read++) {
      const { key, value, revision } = must(events[this.#read], 'an event')
      if (!key.startsWith(CONFIGURATION_PREFIX)) continue
      const path = key.slice(CONFIGURATION_PREFIX.length)
      if (value === undefined) this.#forget(path)
      else this.#configure(path, decodeConfiguration(value, revision))
    }
  }

  /** Those whose set is not what it should be: with nothing else to do, the others need no round. */
  *unsteady(): Iterable<SimulatedShard> {
    for (const path of this.#unsteady) {
      const shard = this.all.get(path)
      if (shard?.configuration === undefined || this.#isSteady(shard.configuration)) {
        this.#unsteady.delete(path)
      } else yield shard
    }
  }

  /** The node has stopped: members of its shards will notice. */
  unsettle(node: SimulatedNode): void {
    for (const path of node.logs.keys()) this.#unsteady.add(path)
  }

  /** One round of the leaders of these shards. */
  lead(shards: Iterable<SimulatedShard> = this.all.values()): void {
    for (const shard of shards) {
      const { configuration } = shard
      const leader = configuration?.leader
      if (configuration === undefined || leader === undefined) continue
      if (!this.#nodes.lives(leader.node, leader.incarnation)) continue
      this.#takeOver(shard, configuration, leader)
      this.#commit(shard, configuration)
      this.#changeSet(shard, configuration, leader)
    }
  }

  /** Whether another replica, on another disk, has everything and may lead. */
  survivesWithout(node: SimulatedNode): boolean {
    if (this.#isAnyBack()) return false
    for (const path of node.logs.keys()) {
      const shard = this.all.get(path)
      if (shard?.configuration === undefined) continue
      const others = holdersOf(shard.configuration).filter((replica) => replica.node !== node.id)
      if (!others.some((replica) => this.#isWhole(shard, replica))) return false
    }
    return true
  }

  /** Whether one that has what this node has was decommissioned: when it is away for long, nobody waits for it. */
  mayBeGivenUpBeside({ id }: SimulatedNode): boolean {
    return this.all.values().some(({ configuration }) => {
      const holders = configuration === undefined ? [] : holdersOf(configuration)
      if (holders.every(({ node }) => node !== id)) return false
      return holders.some(({ node }) => this.#nodes.all.get(node)?.state === 'decommissioned')
    })
  }

  /** Whether a set names the node as one that has everything. */
  countsOn({ id }: SimulatedNode): boolean {
    return this.all.values().some(({ configuration }) => {
      if (configuration === undefined) return false
      return holdersOf(configuration).some(({ node }) => node === id)
    })
  }

  /** Whether a set counts on a disk that went back since. */
  #isAnyBack(): boolean {
    return this.all.values().some(({ configuration }) => {
      if (configuration === undefined) return false
      return holdersOf(configuration).some(({ node, incarnation }) => {
        return incarnation < (this.#nodes.all.get(node)?.backSince ?? 0)
      })
    })
  }

  #isSteady({ inSync, replicas }: ShardConfiguration): boolean {
    const isAlive = inSync.every(({ node, incarnation }) => this.#nodes.lives(node, incarnation))
    return isAlive && inSync.length === replicas.length
  }

  #isWhole({ path, committed }: SimulatedShard, { node, incarnation }: ReplicaId): boolean {
    const holder = this.#nodes.all.get(node)
    if (holder === undefined || holder.isDestroyed) return false
    return incarnation >= holder.wholeSince && holder.logs.get(path) === committed
  }

  #forget(path: string): void {
    this.all.delete(path)
    for (const { logs } of this.#nodes.all.values()) logs.delete(path)
  }

  #configure(path: string, configuration: ShardConfiguration): void {
    let shard = this.all.get(path)
    if (shard === undefined) {
      shard = {
        path,
        committed: 0,
        epoch: 0,
        configuration: undefined,
        catchUps: new Map(),
        silentSinceMs: new Map(),
      }
      this.all.set(path, shard)
      for (const id of configuration.replicas) this.#nodes.all.get(id)?.logs.set(path, 0)
    }
    const before = shard.configuration
    shard.configuration = configuration
    this.#unsteady.add(path)
    for (const id of before?.replicas ?? []) {
      if (configuration.replicas.includes(id)) continue
      this.#nodes.all.get(id)?.logs.delete(path)
      shard.catchUps.delete(id)
    }
  }

  /** A leader that lives to begin has everything that was acknowledged. */
  #takeOver(shard: SimulatedShard, { epoch }: ShardConfiguration, leader: ReplicaId): void {
    if (epoch === shard.epoch) return
    shard.epoch = epoch
    shard.silentSinceMs.clear()
    const has = this.#nodes.all.get(leader.node)?.logs.get(shard.path)
    if (has === shard.committed) return
    throw new BrokenInvariant(
      `R2: ${leader.node} leads epoch ${epoch} of ${shard.path} with ${has} of ${shard.committed} entries`,
    )
  }

  /** An entry counts when every member of the set has it, and the set is large enough. */
  #commit(shard: SimulatedShard, configuration: ShardConfiguration): void {
    if (isBelowMinimum(configuration)) return
    const { inSync } = configuration
    if (!inSync.every(({ node, incarnation }) => this.#nodes.lives(node, incarnation))) return
    shard.committed += 1
    for (const { node } of inSync) this.#nodes.all.get(node)?.logs.set(shard.path, shard.committed)
  }

  #changeSet(shard: SimulatedShard, configuration: ShardConfiguration, leader: ReplicaId): void {
    if (this.#nodes.all.get(leader.node)?.isReachable !== true) return
    const change =
      this.#laggard(shard, configuration, leader) ?? this.#caughtUp(shard, configuration)
    if (change === undefined) return
    this.#changes += 1
    const operation = `${leader.node}/${this.#changes}`
    const { epoch, revision } = configuration
    const after = changedConfiguration(configuration, { ...change, operation, epoch, revision })
    if (after === undefined) return
    const key = configurationKey(shard.path)
    this.#store.commit({
      when: [{ key, modRevision: revision }],
      changes: [{ type: 'put', key, value: encodeConfiguration(after) }],
    })
  }

  #laggard(
    shard: SimulatedShard,
    { inSync }: ShardConfiguration,
    leader: ReplicaId,
  ): Pick<InSyncChange, 'kind' | 'replica'> | undefined {
    const { nowMs } = this.#store
    for (const member of inSync) {
      if (member.node === leader.node) continue
      if (this.#nodes.lives(member.node, member.incarnation)) {
        shard.silentSinceMs.delete(member.node)
        continue
      }
      const sinceMs = shard.silentSinceMs.get(member.node) ?? nowMs
      shard.silentSinceMs.set(member.node, sinceMs)
      if (nowMs - sinceMs > LAG_MAX_MS) return { kind: 'remove', replica: member }
    }
    return undefined
  }

  #caughtUp(
    shard: SimulatedShard,
    configuration: ShardConfiguration,
  ): Pick<InSyncChange, 'kind' | 'replica'> | undefined {
    const { nowMs } = this.#store
    for (const id of configuration.replicas) {
      const node = this.#nodes.all.get(id)
      if (node?.isRunning !== true) continue
      const { incarnation } = node
      if (inSyncMember(configuration, id)?.incarnation === incarnation) continue
      let catchUp = shard.catchUps.get(id)
      if (catchUp?.incarnation !== incarnation) {
        const scale = node.logs.has(shard.path) ? 0.1 : 1
        const untilMs = nowMs + scale * this.catchUpMaxMs * this.#random()
        catchUp = { incarnation, untilMs }
        shard.catchUps.set(id, catchUp)
      }
      if (nowMs < catchUp.untilMs) continue
      node.logs.set(shard.path, shard.committed)
      return { kind: 'add', replica: { node: id, incarnation } }
    }
    return undefined
  }
}
