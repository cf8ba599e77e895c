// What the entries of a cluster say, decoded. It only takes entries in; `ClusterMap` brings them.

import { unreachable } from '../../lib/assert.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { MoveRecord } from '../controller/core/records/move-record.ts'
import type {
  NodeHold,
  NodeRegistration,
  NodeState,
} from '../controller/core/records/node-record.ts'
import type { NodeId, ShardConfiguration } from '../replication/core/configuration.ts'
import type { ClusterObservation } from './observed-entry.ts'

/** A node of the cluster, as this node knows it. */
export interface KnownNode {
  readonly id: NodeId
  readonly zone: string
  readonly name?: string | undefined
  /** Undefined for a node that is registered and has no record. */
  readonly state: NodeState | undefined
  /** The operation that drains or decommissions it. */
  readonly operationId?: string | undefined
  /** It may be over. */
  readonly hold?: NodeHold | undefined
  /** When it joined, where its record says so. */
  readonly registeredAtMs?: number | undefined
  /** Undefined while the node is away. */
  readonly registration: NodeRegistration | undefined
  /** The last known ones, because a node may serve although its lease is lost. */
  readonly addresses: NodeRegistration['addresses'] | undefined
  /** The revision of the registration, for the conditions of commits; 0 while the node is away. */
  readonly liveRevision: number
}

/** What has changed. */
export type ClusterChange =
  | { readonly kind: 'node'; readonly id: NodeId }
  | { readonly kind: 'configuration'; readonly path: ShardPath }
  | { readonly kind: 'move'; readonly path: ShardPath }

/** The nodes, configurations and moves of a cluster. */
export class KnownCluster {
  readonly nodes = new Map<NodeId, KnownNode>()
  readonly configurations = new Map<ShardPath, ShardConfiguration>()
  readonly moves = new Map<ShardPath, MoveRecord>()
  /** By the shard's own id, which no two tables share. */
  readonly #paths = new Map<string, ShardPath>()

  pathOf(shardId: string): ShardPath | undefined {
    return this.#paths.get(shardId)
  }

  /** Answers what has changed. */
  take(observed: ClusterObservation): ClusterChange | undefined {
    switch (observed.kind) {
      case 'configuration':
        return this.configure(observed.path, observed.configuration)
      case 'move':
        return this.#move(observed.path, observed.record)
      case 'live':
        return this.#register(observed.id, observed)
      case 'node':
        return this.#edit(observed.id, ({ addresses }) => ({
          zone: observed.record?.zone ?? '',
          name: observed.record?.name,
          state: observed.record?.state,
          operationId: observed.record?.operationId,
          hold: observed.record?.hold,
          registeredAtMs: observed.record?.registeredAtMs,
          addresses: addresses ?? observed.record?.addresses,
        }))
      default:
        return unreachable(observed)
    }
  }

  /** Ignores a configuration that is not newer than the known one. */
  configure(
    path: ShardPath,
    configuration: ShardConfiguration | undefined,
  ): ClusterChange | undefined {
    const known = this.configurations.get(path)
    if (configuration === undefined) {
      this.configurations.delete(path)
      this.#paths.delete(shardIdOf(path))
    } else {
      if (configuration.revision <= (known?.revision ?? 0)) return undefined
      this.configurations.set(path, configuration)
      this.#paths.set(shardIdOf(path), path)
    }
    return { kind: 'configuration', path }
  }

  #move(path: ShardPath, record: MoveRecord | undefined): ClusterChange {
    if (record === undefined) this.moves.delete(path)
    else this.moves.set(path, record)
    return { kind: 'move', path }
  }

  #register(
    id: NodeId,
    {
      record,
      revision,
    }: { readonly record: NodeRegistration | undefined; readonly revision: number },
  ): ClusterChange {
    return this.#edit(id, ({ addresses }) => ({
      registration: record,
      liveRevision: record === undefined ? 0 : revision,
      addresses: record?.addresses ?? addresses,
    }))
  }

  #edit(id: NodeId, edit: (before: KnownNode) => Partial<KnownNode>): ClusterChange {
    const before = this.nodes.get(id) ?? absentNode(id)
    const next = { ...before, ...edit(before) }
    if (next.state === undefined && next.registration === undefined) this.nodes.delete(id)
    else this.nodes.set(id, next)
    return { kind: 'node', id }
  }
}

function absentNode(id: NodeId): KnownNode {
  return {
    id,
    zone: '',
    state: undefined,
    registration: undefined,
    addresses: undefined,
    liveRevision: 0,
  }
}

function shardIdOf(path: ShardPath): string {
  return path.slice(path.indexOf('/') + 1)
}
