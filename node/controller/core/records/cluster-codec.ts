// Keys and values of the cluster, its nodes, shards' configurations and moves in the coordination store.
// Format: docs/reference/formats/cluster.md.

import { ServiceError } from '../../../../lib/errors.ts'
import type {
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../../../replication/core/configuration.ts'
import type { MoveCause, MoveRecord } from './move-record.ts'
import type { NodeRecord, NodeRegistration, NodeState } from './node-record.ts'

const FORMAT = 1

/** All keys of this file begin with it. */
export const CLUSTER_PREFIX = '/cluster/'
export const IDENTITY_KEY = '/cluster/identity'
/**
 * The election of the controller: its candidates have keys below. The creation revision of the elected
 * one's key fences each of its changes.
 */
export const CONTROLLER_KEY = '/cluster/controller'
export const NODE_PREFIX = '/cluster/nodes/'
/** Keys under it are attached to leases. */
export const LIVE_PREFIX = '/cluster/live/'
export const CONFIGURATION_PREFIX = '/cluster/shards/'
export const MOVE_PREFIX = '/cluster/moves/'

/** A shard's name in the cluster: the id of its table, a slash, its own id. */
export type ShardPath = string

/** Which cluster the entries are of. The id tells it from every other one of the same name. */
export interface ClusterIdentity {
  readonly name: string
  readonly id: string
}

export function nodeKey(id: NodeId): string {
  return NODE_PREFIX + id
}

export function liveKey(id: NodeId): string {
  return LIVE_PREFIX + id
}

export function configurationKey(path: ShardPath): string {
  return CONFIGURATION_PREFIX + path
}

export function moveKey(path: ShardPath): string {
  return MOVE_PREFIX + path
}

const NODE_STATES: Readonly<Record<NodeState, true>> = {
  serving: true,
  draining: true,
  decommissioned: true,
  forgotten: true,
}

const CAUSES: Readonly<Record<MoveCause, true>> = {
  replace: true,
  drain: true,
  grow: true,
  spread: true,
  balance: true,
  request: true,
}

export function encodeIdentity({ name, id }: ClusterIdentity): Buffer {
  return encoded({ format: FORMAT, name, id })
}

/** Throws CORRUPTION for a value of another format, as the other decoders do. */
export function decodeIdentity(bytes: Uint8Array): ClusterIdentity {
  const stored = decoded('identity of the cluster', bytes)
  return { name: stored.text('name'), id: stored.text('id') }
}

export function encodeNode(record: NodeRecord): Buffer {
  const { id, zone, name, addresses, state, incarnation, operation } = record
  const { operationId, endedOperationId, hold, registeredAtMs } = record
  const life = { id, zone, name, ...addresses, state, incarnation, operation }
  const held = hold && [hold.untilMs, hold.ms, hold.operationId ?? null]
  return encoded({
    format: FORMAT,
    ...life,
    operationId,
    endedOperationId,
    hold: held,
    registeredAtMs,
  })
}

export function decodeNode(bytes: Uint8Array): NodeRecord {
  const stored = decoded('node record', bytes)
  return {
    id: stored.text('id'),
    zone: stored.text('zone'),
    ...textIn(stored, 'name'),
    ...addressesIn(stored.member('peer'), stored.member('api')),
    state: stored.oneOf('state', NODE_STATES),
    incarnation: stored.count('incarnation'),
    operation: stored.text('operation'),
    ...textIn(stored, 'operationId'),
    ...textIn(stored, 'endedOperationId'),
    ...holdIn(stored),
    ...registrationTimeIn(stored),
  }
}

function registrationTimeIn(stored: StoredRecord): Pick<NodeRecord, 'registeredAtMs'> {
  if (stored.member('registeredAtMs') === undefined) return {}
  return { registeredAtMs: stored.count('registeredAtMs') }
}

function holdIn(stored: StoredRecord): Pick<NodeRecord, 'hold'> {
  if (stored.member('hold') === undefined) return {}
  const [until, length, operationId] = stored.list('hold')
  const untilMs = stored.checkedCount('hold', until)
  const ms = stored.checkedCount('hold', length)
  if (operationId === null) return { hold: { untilMs, ms } }
  return { hold: { untilMs, ms, operationId: stored.checkedText('hold', operationId) } }
}

function textIn<Name extends string>(
  stored: { member(name: string): unknown },
  name: Name,
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {}
  const value = stored.member(name)
  if (typeof value === 'string') found[name] = value
  return found
}

/** Records from before nodes kept their addresses have none. */
function addressesIn(peer: unknown, api: unknown): Pick<NodeRecord, 'addresses'> {
  const isThere = typeof peer === 'string' && typeof api === 'string'
  return isThere ? { addresses: { peer, api } } : {}
}

export function encodeRegistration(registration: NodeRegistration): Buffer {
  const { id, incarnation, addresses, version, wholeSince, unreached, isLeaving } = registration
  const life = { incarnation, ...addresses, version, wholeSince, unreached, isLeaving }
  return encoded({ format: FORMAT, id, ...life })
}

export function decodeRegistration(bytes: Uint8Array): NodeRegistration {
  const stored = decoded('registration of a node', bytes)
  return {
    id: stored.text('id'),
    incarnation: stored.count('incarnation'),
    addresses: { peer: stored.text('peer'), api: stored.text('api') },
    version: stored.text('version'),
    wholeSince: stored.count('wholeSince'),
    ...textIn(stored, 'unreached'),
    isLeaving: stored.member('isLeaving') === true,
  }
}

export function encodeConfiguration(configuration: Omit<ShardConfiguration, 'revision'>): Buffer {
  const { epoch, leader, replicas, inSync, eligible, minInSync, operation } = configuration
  return encoded({
    format: FORMAT,
    epoch,
    leader: leader === undefined ? null : pairOf(leader),
    replicas,
    inSync: inSync.map(pairOf),
    eligible: eligible.map(pairOf),
    minInSync,
    operation,
  })
}

/** `revision` is that of the commit that wrote the bytes. */
export function decodeConfiguration(bytes: Uint8Array, revision: number): ShardConfiguration {
  const stored = decoded('configuration of a shard', bytes)
  const leader = stored.member('leader')
  return {
    revision,
    epoch: stored.count('epoch'),
    leader: leader === null ? undefined : stored.replica('leader', leader),
    replicas: stored.list('replicas').map((node) => stored.checkedText('replicas', node)),
    inSync: stored.list('inSync').map((pair) => stored.replica('inSync', pair)),
    eligible: stored.list('eligible').map((pair) => stored.replica('eligible', pair)),
    minInSync: stored.count('minInSync'),
    operation: stored.text('operation'),
  }
}

export function encodeMove({ cause, to, from, operation }: MoveRecord): Buffer {
  return encoded({ format: FORMAT, cause, to, from: from ?? null, operation })
}

export function decodeMove(bytes: Uint8Array): MoveRecord {
  const stored = decoded('move of a replica', bytes)
  return {
    cause: stored.oneOf('cause', CAUSES),
    to: stored.text('to'),
    from: stored.member('from') === null ? undefined : stored.text('from'),
    operation: stored.text('operation'),
  }
}

function encoded(record: object): Buffer {
  return Buffer.from(JSON.stringify(record))
}

function pairOf({ node, incarnation }: ReplicaId): readonly [NodeId, number] {
  return [node, incarnation]
}

function decoded(what: string, bytes: Uint8Array): StoredRecord {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(bytes))
  } catch (cause) {
    throw new ServiceError('CORRUPTION', `${what}: not JSON`, { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ServiceError('CORRUPTION', `${what}: not an object`)
  }
  const stored = new StoredRecord(what, new Map(Object.entries(value)))
  const format = stored.member('format')
  if (format !== FORMAT) stored.refuse(`unknown format ${JSON.stringify(format)}`)
  return stored
}

/** The members of a stored record. Its readers throw CORRUPTION for a member of another type. */
class StoredRecord {
  readonly #what: string
  readonly #members: ReadonlyMap<string, unknown>

  constructor(what: string, members: ReadonlyMap<string, unknown>) {
    this.#what = what
    this.#members = members
  }

  member(name: string): unknown {
    return this.#members.get(name)
  }

  text(name: string): string {
    return this.checkedText(name, this.member(name))
  }

  count(name: string): number {
    return this.checkedCount(name, this.member(name))
  }

  list(name: string): readonly unknown[] {
    const value = this.member(name)
    return Array.isArray(value) ? value : this.refuse(`${name} is not a list`)
  }

  oneOf<Name extends string>(name: string, names: Readonly<Record<Name, true>>): Name {
    const value = this.member(name)
    const isName = (text: unknown): text is Name =>
      typeof text === 'string' && Object.hasOwn(names, text)
    return isName(value) ? value : this.refuse(`unknown ${name} ${JSON.stringify(value)}`)
  }

  replica(name: string, value: unknown): ReplicaId {
    if (!Array.isArray(value) || value.length !== 2) return this.refuse(`${name}: not a replica`)
    const [node, incarnation]: readonly unknown[] = value
    return {
      node: this.checkedText(name, node),
      incarnation: this.checkedCount(name, incarnation),
    }
  }

  checkedText(name: string, value: unknown): string {
    return typeof value === 'string' ? value : this.refuse(`${name} is not a text`)
  }

  refuse(problem: string): never {
    throw new ServiceError('CORRUPTION', `${this.#what}: ${problem}; restore a backup of etcd`)
  }

  checkedCount(name: string, value: unknown): number {
    const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    return isCount ? value : this.refuse(`${name} is not a count`)
  }
}
