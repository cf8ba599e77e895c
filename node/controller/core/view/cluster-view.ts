// What the controller knows of the cluster, with the sums that decisions need. Every change of a shard
// goes through `change`, which keeps the sums; so a decision looks at one shard and at the nodes, never
// at all shards.

import type { NodeId } from '../../../replication/core/configuration.ts'
import type { ShardPath } from '../records/cluster-codec.ts'
import type { MoveRecord } from '../records/move-record.ts'
import { NodeView } from './node-view.ts'
import type { ControllerSettings } from './controller-settings.ts'
import { ShardView } from './shard-view.ts'

/** How a table wants its shards replicated. */
export interface TableReplication {
  readonly replicationFactor: number
  /** With fewer replicas in sync, writes are refused. At most the replication factor. */
  readonly minInSync: number
}

/** For tables that ask for nothing, in a cluster of three nodes or more. */
export const DEFAULT_REPLICATION: TableReplication = { replicationFactor: 3, minInSync: 2 }

/** Nodes, shards and tables as observed, with what is planned. */
export class ClusterView {
  readonly settings: ControllerSettings
  readonly nodes = new Map<NodeId, NodeView>()
  readonly shards = new Map<ShardPath, ShardView>()
  readonly #tables = new Map<string, TableReplication>()
  /** Shards for which something may have to be done. */
  readonly #touched = new Set<ShardView>()
  #zones = new Map<string, number>()
  #members = 0
  moves = 0
  movingBytes = 0
  /** Grows with each change that balancing may depend on. */
  version = 0

  constructor(settings: ControllerSettings) {
    this.settings = settings
  }

  /** Takes those touched since the last call. */
  takeTouched(): readonly ShardView[] {
    const touched = [...this.#touched]
    this.#touched.clear()
    return touched
  }

  touch(shard: ShardView): void {
    this.#touched.add(shard)
  }

  /** The node of that id. A shard may name a node without a record, which counts as lost. */
  node(id: NodeId, nowMs: number): NodeView {
    let node = this.nodes.get(id)
    if (node === undefined) {
      node = new NodeView(id, nowMs)
      this.nodes.set(id, node)
    }
    return node
  }

  shard(path: ShardPath): ShardView {
    let shard = this.shards.get(path)
    if (shard === undefined) {
      shard = new ShardView(path)
      this.shards.set(path, shard)
    }
    return shard
  }

  /**
   * A table that asks for nothing takes writes in a cluster that never had more than one node. Nodes that are away
   * or lost still count, until they are decommissioned: the loss of nodes must not lower a minimum.
   */
  replicationOf({ tableId }: ShardView): TableReplication {
    const { replicationFactor, minInSync } = DEFAULT_REPLICATION
    const minimum = Math.min(minInSync, Math.max(1, this.#members))
    return this.#tables.get(tableId) ?? { replicationFactor, minInSync: minimum }
  }

  setReplication(tableId: string, wanted: TableReplication | undefined): void {
    if (wanted === undefined) this.#tables.delete(tableId)
    else this.#tables.set(tableId, { ...wanted, minInSync: minimumOf(wanted) })
    for (const shard of this.shards.values()) if (shard.tableId === tableId) this.touch(shard)
    this.version += 1
  }

  /** Changes the shard, and the sums with it. */
  change(shard: ShardView, nowMs: number, edit: () => void): void {
    this.#count(shard, -1, nowMs)
    edit()
    this.#count(shard, 1, nowMs)
    this.touch(shard)
    this.version += 1
    if (shard.isForgotten) this.shards.delete(shard.path)
  }

  /** Looks at each node's clock. What can be used otherwise now touches the shards concerned. */
  assessNodes(nowMs: number): void {
    let isChanged = false
    for (const node of this.nodes.values()) {
      if (!node.assess(nowMs, this.settings)) continue
      isChanged = true
      for (const shard of node.replicas) this.touch(shard)
    }
    if (isChanged) this.#recountZones()
  }

  /** A node's record or registration is another one: its shards' leaders may have to change. */
  nodeChanged(node: NodeView, nowMs: number): void {
    for (const shard of node.replicas) this.touch(shard)
    this.version += 1
    this.#recountMembers()
    // Not at the next plan: a report before it would show the new state and the old condition.
    if (node.assess(nowMs, this.settings)) this.#recountZones()
  }

  /** How many settled nodes of the zone take replicas. */
  settledIn(zone: string): number {
    return this.#zones.get(zone) ?? 0
  }

  get settledZones(): Iterable<string> {
    return this.#zones.keys()
  }

  hasRoomToMove({ bytes = 0 }: ShardView): boolean {
    const { movesMax, moveBytesMax } = this.settings
    const fits = this.moves === 0 || this.movingBytes + bytes <= moveBytesMax
    return this.moves < movesMax && fits
  }

  #recountMembers(): void {
    const members = [...this.nodes.values()].filter(({ isMember }) => isMember).length
    const isOther = members !== this.#members
    this.#members = members
    if (isOther && members <= DEFAULT_REPLICATION.minInSync) {
      for (const shard of this.shards.values()) this.touch(shard)
    }
  }

  #recountZones(): void {
    const zones = new Map<string, number>()
    for (const { zone, isSettled } of this.nodes.values()) {
      if (isSettled) zones.set(zone, (zones.get(zone) ?? 0) + 1)
    }
    const isOther = zones.size !== this.#zones.size || [...zones.keys()].some(isNew(this.#zones))
    this.#zones = zones
    this.version += 1
    // A new zone helps only shards that lack one, and any shard may: all are looked at again.
    if (isOther) for (const shard of this.shards.values()) this.touch(shard)
  }

  #count(shard: ShardView, sign: 1 | -1, nowMs: number): void {
    const { configuration, countedMove: move } = shard
    const isAdded = sign === 1
    for (const id of configuration?.replicas ?? []) {
      setMember(this.node(id, nowMs).replicas, shard, isAdded)
    }
    const leader = configuration?.leader
    if (leader !== undefined) setMember(this.node(leader.node, nowMs).led, shard, isAdded)
    if (move === undefined) return
    this.#countMove(shard, move, sign, nowMs)
    if (leader !== undefined) this.node(leader.node, nowMs).feeding += sign
  }

  #countMove(shard: ShardView, move: MoveRecord, sign: 1 | -1, nowMs: number): void {
    const bytes = sign * (shard.bytes ?? 0)
    const target = this.node(move.to, nowMs)
    target.incoming += sign
    target.incomingBytes += bytes
    const { configuration } = shard
    if (move.from !== undefined && configuration?.replicas.includes(move.from) === true) {
      this.node(move.from, nowMs).outgoing += sign
    }
    this.moves += sign
    this.movingBytes += bytes
  }
}

function setMember(set: Set<ShardView>, shard: ShardView, isMember: boolean): void {
  if (isMember) set.add(shard)
  else set.delete(shard)
}

function isNew(zones: ReadonlyMap<string, number>): (zone: string) => boolean {
  return (zone) => !zones.has(zone)
}

function minimumOf({ replicationFactor, minInSync }: TableReplication): number {
  return Math.min(minInSync, replicationFactor)
}
