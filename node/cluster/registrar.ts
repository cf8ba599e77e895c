// A node's entries in the coordination store: its record, and the registration of its life.
//
// Invariants:
//   CR1  The record and the registration are written in one commit, on the condition that both are as
//        they were read.
//   CR2  A registration of another process at another address is never replaced. One at the node's own address
//        counts as its own. Where addresses are names, another process may have it: a pod that was deleted by force
//        and still runs, and its successor. The later life takes the registration over, and the earlier one ends
//        by CR3 as soon as it sees that.
//   CR3  A life that is not later than all that the cluster has seen does not register. The next start
//        does, as one that lost its data.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import {
  decodeNode,
  decodeRegistration,
  encodeNode,
  encodeRegistration,
  liveKey,
  nodeKey,
} from '../controller/core/records/cluster-codec.ts'
import type { NodeRecord, NodeRegistration } from '../controller/core/records/node-record.ts'
import type { Change, Coordination, CoordinationEntry } from '../coordination/coordination.ts'
import type { Lease } from '../coordination/lease.ts'
import type { NodeIdentity } from './node-identity.ts'

const POLL_MS = 250
/** Each attempt that meets a change of somebody else reads again. */
const ATTEMPTS_MAX = 20

/** What a node says of itself. */
export interface NodeDescription {
  /** Nodes of a zone may fail together; empty in a cluster without zones. */
  readonly zone: string
  /** What people call the node; undefined: nothing. */
  readonly name?: string | undefined
  /** `host:port` where others reach the node. No two nodes have the same. */
  readonly addresses: NodeRegistration['addresses']
  readonly version: string
}

/** Where a registration is written, and for whom. */
export interface RegistrarOptions {
  readonly coordination: Coordination
  readonly identity: NodeIdentity
  readonly description: NodeDescription
  readonly clock: Clock
}

/** How the node registers. */
export interface RegistrationOrder {
  readonly lease: Lease
  readonly isLeaving: boolean
  /** Why the node takes no replicas; undefined: it does. */
  readonly unreached: string | undefined
  /** How long the registration of another process may take to vanish. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Writes the entries of one node. */
export class Registrar {
  readonly #options: RegistrarOptions

  constructor(options: RegistrarOptions) {
    this.#options = options
  }

  /** Whether the registration is there and says what it should. */
  async isRegistered(said: Said): Promise<boolean> {
    const found = await this.#options.coordination.get(this.#liveKey)
    return found !== undefined && found.value.equals(this.#registration(said))
  }

  /**
   * Registers the node, or rejects: INVALID_ARGUMENT if it was decommissioned, CONFLICT if another
   * process is registered under its id or was later than this life, NOT_FOUND if the lease is gone, UNAVAILABLE if nobody answers.
   */
  async register(order: RegistrationOrder): Promise<void> {
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + order.waitMs
    for (let attempts = 0; attempts < ATTEMPTS_MAX;) {
      const found = await this.#read()
      const other = this.#otherProcess(found.live)
      if (other === undefined) {
        if (await this.#write(found, order)) return
        attempts += 1
        continue
      }
      if (clock.monotonicMs() >= untilMs) throw taken(other)
      await clock.sleep(POLL_MS, order.signal)
    }
    throw new ServiceError('UNAVAILABLE', 'the registration of this node changes all the time')
  }

  get #liveKey(): string {
    return liveKey(this.#options.identity.nodeId)
  }

  async #read(): Promise<OwnEntries> {
    const { coordination, identity } = this.#options
    const node = await coordination.get(nodeKey(identity.nodeId))
    const live = await coordination.get(this.#liveKey)
    return { node, live }
  }

  /** CR2. */
  #otherProcess(live: CoordinationEntry | undefined): NodeRegistration | undefined {
    if (live === undefined) return undefined
    const found = decodeRegistration(live.value)
    return found.addresses.peer === this.#options.description.addresses.peer ? undefined : found
  }

  /** CR1. Answers false if something has changed since it was read. */
  async #write({ node, live }: OwnEntries, order: RegistrationOrder): Promise<boolean> {
    const { coordination, identity } = this.#options
    const before = node && decodeNode(node.value)
    const isOut = before?.state === 'decommissioned' || before?.state === 'forgotten'
    if (isOut) throw decommissioned(identity.nodeId)
    await this.#follow(before)
    identity.mayBeSeen = true
    const changes: Change[] = [
      {
        type: 'put',
        key: this.#liveKey,
        value: this.#registration(order),
        lease: order.lease.id,
      },
    ]
    const record = encodeNode(this.#recordAfter(before))
    if (node?.value.equals(record) !== true) {
      changes.push({ type: 'put', key: nodeKey(identity.nodeId), value: record })
    }
    const outcome = await coordination.commit({
      when: [
        { key: nodeKey(identity.nodeId), modRevision: node?.modRevision ?? 0 },
        { key: this.#liveKey, modRevision: live?.modRevision ?? 0 },
      ],
      changes,
    })
    return outcome.kind === 'committed'
  }

  /** CR3. The process has to end: parts of it have used the number of this life already. */
  async #follow(before: NodeRecord | undefined): Promise<void> {
    const { identity } = this.#options
    const seen = before?.incarnation ?? 0
    if (seen < identity.incarnation || (seen === identity.incarnation && identity.mayBeSeen)) return
    await identity.continueAfter(seen)
    throw new ServiceError(
      'CONFLICT',
      `this data directory is an older copy: the cluster has seen its life ${seen}; start the node ` +
        'again, and the cluster copies its replicas anew',
    )
  }

  /** The node's record; that of an operator keeps its operation while nothing else changes. */
  #recordAfter(before: NodeRecord | undefined): NodeRecord {
    const { nodeId: id, incarnation } = this.#options.identity
    const { zone, name, addresses } = this.#options.description
    const state = before?.state ?? 'serving'
    const isSame = before?.incarnation === incarnation
    const operation = isSame ? before.operation : `join/${id}/${incarnation}`
    const { operationId, endedOperationId } = before ?? {}
    const hold = isSame ? before.hold : undefined
    const registeredAtMs = this.#joinTime(before)
    const life = { id, zone, name, addresses, state, incarnation, operation, registeredAtMs }
    return { ...life, operationId, endedOperationId, hold }
  }

  /** Nobody knows it any more if the node has joined before without saying when. */
  #joinTime(before: NodeRecord | undefined): number | undefined {
    if (before !== undefined) return before.registeredAtMs
    return Math.max(0, Math.round(this.#options.clock.nowMs()))
  }

  #registration({ isLeaving, unreached }: Said): Buffer {
    const { nodeId: id, incarnation, wholeSince } = this.#options.identity
    const { addresses, version } = this.#options.description
    const life = { incarnation, addresses, version, wholeSince, unreached, isLeaving }
    return encodeRegistration({ id, ...life })
  }
}

/**
 * Makes this life later than all that the cluster has seen, before anything has used its number. Answers whether it had
 * to: then the data directory is an older copy, and what it had in sync does not count (CR3).
 */
export async function followSeenLives(
  coordination: Coordination,
  identity: NodeIdentity,
): Promise<boolean> {
  const entry = await coordination.get(nodeKey(identity.nodeId))
  const seen = entry === undefined ? 0 : decodeNode(entry.value).incarnation
  if (seen < identity.incarnation) return false
  await identity.continueAfter(seen)
  return true
}
/** What a registration says beside what does not change. */
type Said = Pick<RegistrationOrder, 'isLeaving' | 'unreached'>

/** The node's entries as they were read. */
interface OwnEntries {
  readonly node: CoordinationEntry | undefined
  readonly live: CoordinationEntry | undefined
}

function taken({ id, incarnation, addresses }: NodeRegistration): ServiceError {
  return new ServiceError(
    'CONFLICT',
    `another process is registered as node ${id} (incarnation ${incarnation}, at ${addresses.peer}); ` +
      'if this data directory is a copy of that one, use an empty directory',
  )
}

function decommissioned(id: string): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `the node ${id} was decommissioned; start it over an empty data directory`,
  )
}
