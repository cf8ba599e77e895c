// Parses the answers about a cluster, as service-answers.ts does for tables.

import { entriesOf, memberOf, numberOf, parseAnswer, textOf } from './service-answers.ts'

/** A node of the cluster. */
export interface NodeAnswer {
  readonly id: string
  /** Empty: it has none. */
  readonly name: string
  readonly zone: string
  readonly state: string
  readonly condition: string
  readonly version: string
  readonly api: string
  readonly replicas: number
  readonly leaders: number
  readonly movesIn: number
  readonly movesOut: number
  readonly isSafeToStop: boolean
  /** Why it is not safe to stop it; empty where it is. */
  readonly neededFor: string
  /** Why other nodes cannot use it; empty where they can. */
  readonly unreached: string
  /** Until when it is given no leaderships; empty: it is. */
  readonly heldUntil: string
  /** Its disk, if it has told of it. */
  readonly disk: { readonly totalBytes: number; readonly freeBytes: number } | undefined
  /** Absent unless the node is being emptied. */
  readonly emptying: EmptyingAnswer | undefined
}

/** How far a node is emptied. */
export interface EmptyingAnswer {
  readonly isDone: boolean
  readonly replicasLeft: number
  readonly leadersLeft: number
  readonly moving: number
  readonly waiting: readonly WaitingAnswer[]
}

/** A shard that waits, and why. */
export interface WaitingAnswer {
  readonly table: string
  readonly shard: string
  readonly reason: string
}

/** A shard with its replicas. */
export interface ClusterShardAnswer {
  readonly id: string
  readonly table: string
  readonly epoch: number
  /** Empty: nobody leads it. */
  readonly leader: string
  readonly replicas: readonly ReplicaAnswer[]
  readonly replicationFactor: number
  /** Empty: all is well. */
  readonly trouble: string
  readonly waits: string
  readonly move: MoveAnswer | undefined
}

/** A replica; `lag` and `lagMs` undefined: nobody has said. */
export interface ReplicaAnswer {
  readonly node: string
  readonly isInSync: boolean
  readonly lag: number | undefined
  readonly lagMs: number | undefined
}

/** A move; `from` empty: the shard gets one replica more. */
export interface MoveAnswer {
  readonly from: string
  readonly to: string
  readonly phase: string
  readonly bytes: number
}

/** The cluster's part of the status. */
export interface SummaryAnswer {
  readonly health: string
  readonly message: string
  readonly version: string
  readonly mode: string
  readonly name: string
  /** Empty: nobody is. */
  readonly controller: string
  /** By trouble, and `total`. */
  readonly shards: ReadonlyMap<string, number>
  readonly nodes: ReadonlyMap<string, number>
  readonly moves: number
  readonly waiting: readonly WaitingAnswer[]
  /** Keys of models that are sealed under another accepted secret than the first of the asked node. */
  readonly keysAccepted: number
}

export function parseSummary(text: string): SummaryAnswer {
  const value = parseAnswer(text)
  const cluster = memberOf(value, 'cluster')
  return {
    health: textOf(value, 'health'),
    message: textOf(value, 'message'),
    version: textOf(value, 'version'),
    mode: textOf(cluster, 'mode'),
    name: textOf(cluster, 'name'),
    controller: textOf(cluster, 'controller'),
    shards: countsOf(memberOf(cluster, 'shards')),
    nodes: countsOf(memberOf(cluster, 'nodes')),
    moves: numberOf(cluster, 'moves'),
    waiting: listOf(cluster, 'waiting').map(readWaiting),
    keysAccepted: numberOf(memberOf(value, 'model_keys'), 'accepted'),
  }
}

export function parseNodes(text: string): readonly NodeAnswer[] {
  return listOf(parseAnswer(text), 'nodes').map(readNode)
}

export function parseNode(text: string): NodeAnswer {
  return readNode(parseAnswer(text))
}

/** A page of shards; `nextCursor` empty: the last page. */
export function parseShardPage(text: string): {
  readonly shards: readonly ClusterShardAnswer[]
  readonly values: readonly unknown[]
  readonly nextCursor: string
} {
  const value = parseAnswer(text)
  const values = listOf(value, 'shards')
  return { shards: values.map(readShard), values, nextCursor: textOf(value, 'next_cursor') }
}

/** What is on a node and belongs to no table. */
export function parseLeftovers(text: string): {
  readonly removed: readonly string[]
  readonly leftovers: readonly string[]
  /** All of them; `leftovers` has the first. */
  readonly leftoverCount: number
} {
  const value = parseAnswer(text)
  const idsOf = (name: string): readonly string[] => {
    const member = memberOf(value, name)
    return Array.isArray(member) ? member.filter((id) => typeof id === 'string') : []
  }
  const leftoverCount = numberOf(value, 'leftover_count')
  return { removed: idsOf('removed'), leftovers: idsOf('leftovers'), leftoverCount }
}

export function parseClusterShard(text: string): ClusterShardAnswer {
  return readShard(parseAnswer(text))
}

function readNode(value: unknown): NodeAnswer {
  const emptying = memberOf(value, 'emptying')
  const disk = memberOf(value, 'disk')
  return {
    id: textOf(value, 'id'),
    name: textOf(value, 'name'),
    zone: textOf(value, 'zone'),
    state: textOf(value, 'state'),
    condition: textOf(value, 'condition'),
    version: textOf(value, 'version'),
    api: textOf(value, 'api'),
    replicas: numberOf(value, 'replicas'),
    leaders: numberOf(value, 'leaders'),
    movesIn: numberOf(value, 'moves_in'),
    movesOut: numberOf(value, 'moves_out'),
    isSafeToStop: memberOf(value, 'safe_to_stop') === true,
    neededFor: textOf(value, 'needed_for'),
    unreached: textOf(value, 'unreached'),
    heldUntil: textOf(memberOf(value, 'hold'), 'until'),
    disk: disk === undefined ? undefined : readDisk(disk),
    emptying: emptying === undefined ? undefined : readEmptying(emptying),
  }
}

function readDisk(value: unknown): NodeAnswer['disk'] {
  return { totalBytes: numberOf(value, 'total_bytes'), freeBytes: numberOf(value, 'free_bytes') }
}

function readEmptying(value: unknown): EmptyingAnswer {
  return {
    isDone: memberOf(value, 'done') === true,
    replicasLeft: numberOf(value, 'replicas_left'),
    leadersLeft: numberOf(value, 'leaders_left'),
    moving: numberOf(value, 'moving'),
    waiting: listOf(value, 'waiting').map(readWaiting),
  }
}

function readWaiting(value: unknown): WaitingAnswer {
  return {
    table: textOf(value, 'table'),
    shard: textOf(value, 'shard'),
    reason: textOf(value, 'reason'),
  }
}

function readShard(value: unknown): ClusterShardAnswer {
  const move = memberOf(value, 'move')
  return {
    id: textOf(value, 'id'),
    table: textOf(value, 'table'),
    epoch: numberOf(value, 'epoch'),
    leader: textOf(value, 'leader'),
    replicas: listOf(value, 'replicas').map(readReplica),
    replicationFactor: numberOf(value, 'replication_factor'),
    trouble: textOf(value, 'trouble'),
    waits: textOf(value, 'waits'),
    move: move === undefined ? undefined : readMove(move),
  }
}

function readReplica(value: unknown): ReplicaAnswer {
  return {
    node: textOf(value, 'node'),
    isInSync: memberOf(value, 'in_sync') === true,
    lag: optionalNumber(value, 'lag'),
    lagMs: optionalNumber(value, 'lag_ms'),
  }
}

function optionalNumber(value: unknown, name: string): number | undefined {
  const member = memberOf(value, name)
  return typeof member === 'number' ? member : undefined
}

function readMove(value: unknown): MoveAnswer {
  return {
    from: textOf(value, 'from'),
    to: textOf(value, 'to'),
    phase: textOf(value, 'phase'),
    bytes: numberOf(value, 'bytes'),
  }
}

function countsOf(value: unknown): ReadonlyMap<string, number> {
  return new Map(entriesOf(value).map(([name]) => [name, numberOf(value, name)]))
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const member = memberOf(value, name)
  return Array.isArray(member) ? member : []
}
