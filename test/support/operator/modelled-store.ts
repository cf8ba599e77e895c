// The store of a modelled cluster: shards with replicas on nodes, and each node by the volume that has its data.

import type { StoreNode, StoreView } from '../../../operator/machines/observed/store-view.ts'

export class BrokenInvariant extends Error {}

export interface ModelledNode {
  readonly id: string
  readonly name: string
  readonly claimUID: string
  readonly registeredAt: number
  state: 'serving' | 'draining' | 'decommissioned'
  operation?: string
  incarnation: number
}

interface Replica {
  readonly node: string
  inSync: boolean
}

const SHARDS = 4
/** Replicas that get to another node in one tick. */
const MOVES_PER_TICK = 2

/** `present` are the ids of nodes whose pods are ready; `volumes` the UIDs of claims that exist. */
export interface Surroundings {
  readonly present: ReadonlySet<string>
  readonly volumes: ReadonlySet<string>
}

export class ModelledStore {
  readonly nodes = new Map<string, ModelledNode>()
  readonly shards: Replica[][] = Array.from({ length: SHARDS }, () => [])
  readonly #replicationFactor: number
  /** Nodes that have been away for too long: they are given up, and others get their replicas. */
  readonly lost = new Set<string>()
  /** Nothing moves, as of a controller that cannot. */
  isStuck = false
  isUnreachable = false
  #surroundings: Surroundings = { present: new Set(), volumes: new Set() }

  constructor(replicationFactor: number) {
    this.#replicationFactor = replicationFactor
  }

  nodeOf(claimUID: string): ModelledNode | undefined {
    return this.nodes.values().find((node) => node.claimUID === claimUID)
  }

  tick(surroundings: Surroundings): void {
    this.#surroundings = surroundings
    for (const id of surroundings.present) this.lost.delete(id)
    for (const shard of this.shards) this.#sync(shard)
    this.#checkData()
    if (this.isStuck) return
    let moves = MOVES_PER_TICK
    for (const shard of this.shards) if (moves > 0 && this.#move(shard)) moves -= 1
  }

  /** A replica that is away leaves the in-sync set as soon as another one has every write. */
  #sync(shard: Replica[]): void {
    const { present } = this.#surroundings
    const isThere = shard.some(({ node, inSync }) => inSync && present.has(node))
    if (!isThere) return
    for (const replica of shard) replica.inSync = present.has(replica.node)
  }

  /** No acknowledged write is lost: some replica that has all of them is on a volume that exists. */
  #checkData(): void {
    for (const shard of this.shards) {
      if (shard.length === 0) continue
      const kept = shard.some(({ node, inSync }) => {
        const claimUID = this.nodes.get(node)?.claimUID ?? ''
        return inSync && this.#surroundings.volumes.has(claimUID)
      })
      if (!kept) throw new BrokenInvariant('a shard has lost its last replica in sync')
    }
  }

  /** Adds a replica where one is missing, or takes away one that is not wanted any more. */
  #move(shard: Replica[]): boolean {
    const { present } = this.#surroundings
    const fit = [...this.nodes.values()]
      .filter(({ id, state }) => state === 'serving' && present.has(id))
      .toSorted((one, other) => this.#load(one.id) - this.#load(other.id))
    const wanted = shard.filter(({ node }) => this.#mayKeep(node))
    const free = fit.find(({ id }) => !shard.some(({ node }) => node === id))
    const hasSource = shard.length === 0 || shard.some((one) => one.inSync && present.has(one.node))
    if (wanted.length < this.#replicationFactor && free !== undefined && hasSource) {
      shard.push({ node: free.id, inSync: true })
      return true
    }
    const enough = wanted.filter(({ inSync }) => inSync).length >= this.#replicationFactor
    const leaving = shard.findIndex(({ node }) => !this.#mayKeep(node))
    if (!enough || leaving < 0) return false
    shard.splice(leaving, 1)
    return true
  }

  #mayKeep(id: string): boolean {
    return this.nodes.get(id)?.state === 'serving' && !this.lost.has(id)
  }

  #load(id: string): number {
    return this.shards.flat().filter(({ node }) => node === id).length
  }

  /** Whether every shard would have a replica in sync on another volume. */
  isSpared(claimUID: string): boolean {
    const { volumes, present } = this.#surroundings
    return this.shards.every(
      (shard) =>
        shard.length === 0 ||
        shard.some(({ node, inSync }) => {
          const own = this.nodes.get(node)?.claimUID ?? ''
          return inSync && own !== claimUID && volumes.has(own) && present.has(node)
        }),
    )
  }

  replicasOn(id: string): number {
    return this.#load(id)
  }

  view(nowMs: number): StoreView | 'unreachable' {
    const { present } = this.#surroundings
    if (this.isUnreachable || present.size === 0) return 'unreachable'
    const under = this.shards.filter((shard) => this.#isUnder(shard)).length
    const unavailable = this.shards.filter(
      (shard) => !shard.some(({ node, inSync }) => inSync && present.has(node)),
    ).length
    return {
      readAtMs: nowMs,
      ageMs: 0,
      health: unavailable > 0 ? 'unhealthy' : under > 0 ? 'degraded' : 'healthy',
      version: '1.0.0',
      isControlled: true,
      shards: { total: SHARDS, underReplicated: under, unavailable },
      nodes: [...this.nodes.values()].map((node) => this.#nodeView(node)),
    }
  }

  #isUnder(shard: readonly Replica[]): boolean {
    const serving = [...this.nodes.values()].filter(({ state }) => state === 'serving').length
    const inSync = shard.filter((one) => one.inSync && this.#surroundings.present.has(one.node))
    return inSync.length < Math.min(this.#replicationFactor, Math.max(1, serving))
  }

  #nodeView({ id, name, state, operation, incarnation, registeredAt }: ModelledNode): StoreNode {
    const isPresent = this.#surroundings.present.has(id)
    const replicas = this.#load(id)
    const condition = state === 'serving' ? 'serving' : 'emptying'
    const waiting = this.isStuck ? replicas : 0
    const emptying = {
      done: replicas === 0,
      replicasLeft: replicas,
      leadersLeft: 0,
      moving: this.isStuck || replicas === 0 ? 0 : 1,
      waiting,
    }
    return {
      id,
      name,
      zone: '',
      state,
      condition: isPresent ? condition : this.lost.has(id) ? 'lost' : 'away',
      incarnation,
      registeredAt: new Date(registeredAt).toISOString(),
      replicas,
      leaders: 0,
      safeToStop: this.#isSafe(id),
      ...(state === 'serving' ? {} : { emptying }),
      ...(operation === undefined ? {} : { operation }),
    }
  }

  #isSafe(id: string): boolean {
    const { present } = this.#surroundings
    return this.shards.every(
      (shard) =>
        !shard.some(({ node }) => node === id) ||
        shard.some(({ node, inSync }) => node !== id && inSync && present.has(node)),
    )
  }

  drain(id: string, operation: string): void {
    const node = this.nodes.get(id)
    if (node === undefined || node.state === 'decommissioned') return
    node.state = 'draining'
    node.operation = operation
  }

  undrain(id: string, operation: string): void {
    const node = this.nodes.get(id)
    if (node?.state !== 'draining' || node.operation !== operation) return
    node.state = 'serving'
    delete node.operation
  }

  decommission(id: string, operation: string): void {
    const node = this.nodes.get(id)
    if (node === undefined) return
    node.state = 'decommissioned'
    node.operation = operation
  }

  /** Refused, as by the store, for a node that is there or holds something. */
  forget(id: string): void {
    const node = this.nodes.get(id)
    if (node?.state !== 'decommissioned') return
    if (this.#surroundings.present.has(id) || this.#load(id) > 0) return
    this.nodes.delete(id)
  }
}
