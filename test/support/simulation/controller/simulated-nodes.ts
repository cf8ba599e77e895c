import type { Random } from '../../../../lib/random.ts'
import {
  encodeNode,
  encodeRegistration,
  liveKey,
  nodeKey,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import type { NodeState } from '../../../../node/controller/core/records/node-record.ts'
import type { SimulatedStore } from './simulated-store.ts'

export const LEASE_MS = 3000

/** A machine with a data directory. */
export interface SimulatedNode {
  readonly id: string
  readonly zone: string
  state: NodeState
  incarnation: number
  isRunning: boolean
  /** Whether it reaches the coordination store. */
  isReachable: boolean
  isLeaving: boolean
  /** Its data directory is gone for good. */
  isDestroyed: boolean
  wholeSince: number
  /** It is given no leaderships until then, in the life that was asked. */
  hold: { readonly untilMs: number; readonly ms: number; readonly incarnation: number } | undefined
  /** The first life after its disk went back: what it had in sync before may be gone, and nothing says so. */
  backSince: number
  leaseUntilMs: number
  /** The life that its registration names. */
  registered: number
  /** For each shard, the last committed entry that it has on disk. */
  readonly logs: Map<string, number>
}

/** The nodes of a cluster, and their registrations. */
export class SimulatedNodes {
  readonly all = new Map<string, SimulatedNode>()
  readonly #store: SimulatedStore
  #joined = 0

  constructor(store: SimulatedStore) {
    this.#store = store
  }

  join(zone: string): SimulatedNode {
    this.#joined += 1
    const node: SimulatedNode = {
      id: `n${String(this.#joined).padStart(3, '0')}`,
      zone,
      state: 'serving',
      incarnation: 0,
      isRunning: false,
      isReachable: true,
      isLeaving: false,
      isDestroyed: false,
      wholeSince: 1,
      hold: undefined,
      backSince: 0,
      leaseUntilMs: 0,
      registered: 0,
      logs: new Map(),
    }
    this.all.set(node.id, node)
    this.setState(node, 'serving')
    this.start(node)
    return node
  }

  setState(node: SimulatedNode, state: NodeState): void {
    node.state = state
    this.#record(node)
  }

  hold(node: SimulatedNode, ms: number): void {
    node.hold = { untilMs: this.#store.nowMs + ms, ms, incarnation: node.incarnation }
    this.#record(node)
  }

  stays(id: string): boolean {
    const node = this.all.get(id)
    return node?.state === 'serving' && node.isRunning && !node.isLeaving
  }

  isHeld(id: string): boolean {
    return (this.all.get(id)?.hold?.untilMs ?? 0) > this.#store.nowMs
  }

  #record({ id, zone, state, incarnation, hold }: SimulatedNode): void {
    const operation = `operator/${this.#store.revision}`
    const life = { id, zone, state, incarnation, operation }
    this.#store.put(nodeKey(id), encodeNode({ ...life, hold }))
  }

  start(node: SimulatedNode): void {
    node.incarnation += 1
    node.isRunning = true
    node.isLeaving = false
    this.register(node)
  }

  register(node: SimulatedNode): void {
    if (!node.isReachable) return
    const { id, incarnation, wholeSince, isLeaving } = node
    if (node.hold !== undefined && node.hold.incarnation !== incarnation) {
      node.hold = undefined
      this.#record(node)
    }
    const addresses = { peer: `${id}:1`, api: `${id}:2` }
    const record = { id, incarnation, addresses, version: '1', wholeSince, isLeaving }
    this.#store.put(liveKey(id), encodeRegistration(record))
    node.leaseUntilMs = this.#store.nowMs + LEASE_MS
    node.registered = incarnation
  }

  stop(node: SimulatedNode, isClean: boolean): void {
    node.isRunning = false
    if (isClean && node.isReachable) this.#store.delete(liveKey(node.id))
  }

  /** Its lease ends at once: a shard that is placed meanwhile would have nothing to lose, and nobody to lead. */
  destroy(node: SimulatedNode): void {
    node.isRunning = false
    node.isDestroyed = true
    node.logs.clear()
    this.#store.delete(liveKey(node.id))
  }

  /** Renews the leases of nodes that run and reach the store; the others' leases end. */
  renewLeases(): void {
    const { nowMs } = this.#store
    for (const node of this.all.values()) {
      const isRegistered = this.#store.get(liveKey(node.id)) !== undefined
      if (node.isRunning && node.isReachable) {
        const isOwn = isRegistered && node.registered === node.incarnation
        if (isOwn) node.leaseUntilMs = nowMs + LEASE_MS
        else this.register(node)
      } else if (isRegistered && nowMs >= node.leaseUntilMs) this.#store.delete(liveKey(node.id))
    }
  }

  lives(id: string, incarnation: number): boolean {
    const node = this.all.get(id)
    return node?.isRunning === true && node.incarnation === incarnation
  }

  pick(random: Random, isWanted: (node: SimulatedNode) => boolean): SimulatedNode | undefined {
    const wanted = [...this.all.values()].filter((node) => !node.isDestroyed && isWanted(node))
    return wanted[Math.floor(random() * wanted.length)]
  }
}
