// Whether the other nodes can use this one. A registration in etcd says that a node reaches etcd, and nothing of a
// wrong secret, a wrong advertised address or a network that lets messages pass in one direction. So a node asks the
// others to call it back where it says that it is.
//
//   this node ──vouch (my address)──► other node
//   this node ◄──────── echo ──────── other node       at that address, by the same proof
//   this node ◄─────── answer ─────── other node
//
// Invariants:
//   PR1  A node says that it is reached when the larger part of the cluster vouches for it (reach-verdict.ts).
//   PR2  One that was reached says otherwise only after FAILURES_MAX rounds in a row, so that a pause of a network
//        changes nothing.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError, messageOf, ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { PeerHandler, PeerHandlers, PeerNode } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'
import { peerAddress } from './peer-address.ts'
import { unreachedReason, type AskedNode } from './reach-verdict.ts'

/** The numbers are part of the peer protocol. */
const VOUCH = 104
const ECHO = 105

const ROUND_MS = 5000
const VOUCH_MS = 3000
const ECHO_MS = 2000
const FAILURES_MAX = 3
/** In a large cluster a sample is asked. */
const ASKED_MAX = 16
const ADDRESS_BYTES_MAX = 512

interface OtherNode {
  readonly id: NodeId
  readonly peer: string
  readonly since: number
}

type Links = Pick<PeerNode, 'link'>

/** Who asks, and whom. */
export interface PeerReachOptions {
  readonly self: NodeId
  /** `host:port` where others reach this node. */
  readonly address: string
  readonly map: Pick<ClusterMap, 'nodes' | 'node'>
  readonly peers: Links
  readonly clock: Clock
  readonly log: Log
}

/**
 * Contract:
 * - `look` asks once. It resolves within seconds, and never rejects.
 * - `keep` asks now and then, until the returned function is called, and tells `told` each change.
 * - `unreached` is the current reason, and `hasBeenReached` tells whether this process has reached the node before.
 */
export class PeerReach {
  readonly #with: PeerReachOptions
  #unreached: string | undefined = 'no other node has been asked yet'
  #failures = FAILURES_MAX
  #hasBeenReached = false

  constructor(options: PeerReachOptions) {
    this.#with = options
  }

  get unreached(): string | undefined {
    return this.#unreached
  }

  get hasBeenReached(): boolean {
    return this.#hasBeenReached
  }

  keep(told: (unreached: string | undefined) => void): () => Promise<void> {
    return this.#with.clock.every(ROUND_MS, async () => {
      const before = this.#unreached
      await this.look()
      if (before !== this.#unreached) told(this.#unreached)
    })
  }

  /** PR1, PR2. */
  async look(): Promise<void> {
    const { self, map } = this.#with
    const asked = await Promise.all(this.#others().map((other) => this.#ask(other)))
    const since = map.node(self)?.liveRevision ?? 0
    const reason = unreachedReason(since === 0 ? Infinity : since, asked)
    this.#failures = reason === undefined ? 0 : this.#failures + 1
    const isIgnored = reason !== undefined && this.#failures < FAILURES_MAX
    if (isIgnored && this.#unreached === undefined) return
    this.#take(reason)
  }

  #take(reason: string | undefined): void {
    const { log } = this.#with
    if (reason === undefined) this.#hasBeenReached = true
    if ((reason === undefined) !== (this.#unreached === undefined) || !this.#hasBeenReached) {
      if (reason === undefined) log.info('other nodes reach this one')
      else log.warn('this node takes no replicas: other nodes cannot use it', { reason })
    }
    this.#unreached = reason
  }

  /** Nodes that say of themselves that nobody reaches them are not asked. */
  #others(): readonly OtherNode[] {
    const { self, map } = this.#with
    return map
      .nodes()
      .flatMap(({ id, registration, liveRevision }) => {
        if (registration === undefined || id === self) return []
        const { isLeaving, unreached, addresses } = registration
        return isLeaving || unreached !== undefined
          ? []
          : [{ id, peer: addresses.peer, since: liveRevision }]
      })
      .slice(0, ASKED_MAX)
  }

  async #ask({ id, peer, since }: OtherNode): Promise<AskedNode> {
    const { peers, address } = this.#with
    const where = peerAddress(id, peer)
    if (where === undefined) return { id, since, failure: `its address "${peer}" is none` }
    try {
      const call = { operation: VOUCH, body: Buffer.from(address) }
      await peers.link(where).call(call, { timeoutMs: VOUCH_MS })
      return { id, since, failure: undefined }
    } catch (error) {
      // An older version does not know the call, and has heard this node all the same.
      const isOld = isServiceError(error) && error.code === 'INVALID_ARGUMENT'
      return { id, since, failure: isOld ? undefined : messageOf(error) }
    }
  }
}

/** What a node answers when another one asks whether it reaches that. */
export function reachHandlers(links: Links): PeerHandlers {
  const vouch: PeerHandler = {
    kind: 'call',
    handle: async ({ from, body }) => {
      const text = body.subarray(0, ADDRESS_BYTES_MAX).toString()
      const address = peerAddress(from, text)
      if (address === undefined) throw unreachable(text, 'it is not host:port')
      const call = { operation: ECHO, body: Buffer.alloc(0) }
      await links
        .link(address)
        .call(call, { timeoutMs: ECHO_MS })
        .catch((error: unknown) => {
          throw unreachable(text, messageOf(error))
        })
      return Buffer.alloc(0)
    },
  }
  const echo: PeerHandler = { kind: 'call', handle: async () => Buffer.alloc(0) }
  return new Map([
    [VOUCH, vouch],
    [ECHO, echo],
  ])
}

function unreachable(address: string, why: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `the way back to ${address} fails: ${why}`)
}
