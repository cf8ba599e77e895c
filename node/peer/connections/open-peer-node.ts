// A node's end of the transport: it accepts connections, and hands out links to other nodes.

import { assert } from '../../../lib/assert.ts'
import type { Current } from '../../../lib/replaceable.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import { Deadlines } from '../deadlines.ts'
import { DialledLink } from './dialled-link.ts'
import { acceptHandshake } from '../wire/handshake.ts'
import type { Identity, Session } from '../wire/handshake.ts'
import { HANDSHAKE_BYTES_MAX } from '../wire/handshake-codec.ts'
import type { VersionRange } from '../wire/handshake-codec.ts'
import { HandshakeStage } from '../wire/handshake-stage.ts'
import { checkLimits, termsOf } from '../peer-limits.ts'
import type { PeerLimits } from '../peer-limits.ts'
import type { Dialling } from './peer-lane.ts'
import type { NodeId, PeerAddress, PeerHandlers, PeerLink, PeerNode } from '../peer.ts'
import { RefusalLog } from './refusal-log.ts'
import { ServingSide } from './serving-side.ts'
import type { Service } from './service.ts'
import { SECRET_BYTES_MIN } from '../wire/session-keys.ts'
import { addressOf, Strangers } from '../channels/strangers.ts'
import type { Stranger } from '../channels/strangers.ts'
import type { ByteChannel, ChannelListener, PeerTransport } from '../transport.ts'

/** The versions of the peer protocol that this program speaks. */
export const PEER_VERSIONS: VersionRange = { min: 1, max: 1 }

/** What a node needs to talk to others. */
export interface PeerNodeOptions {
  readonly transport: PeerTransport
  readonly cluster: string
  readonly nodeId: NodeId
  /**
   * The secrets of the cluster, each of at least 16 bytes. The first is shown to other nodes, which may show any of
   * them. A connection by a secret that is no longer among them takes no more calls, and ends within `graceMs`.
   */
  readonly secrets: Current<readonly Uint8Array[]>
  readonly handlers: PeerHandlers
  readonly limits: PeerLimits
  readonly versions: VersionRange
  readonly port: number
  readonly clock: Clock
  readonly random: Random
  randomBytes(length: number): Buffer
  readonly log: Log
  /** An error of a handler that is not a ServiceError. */
  onFault(error: unknown): void
}

/** Listens and serves. Rejects if the port is taken. */
export async function openPeerNode(options: PeerNodeOptions): Promise<PeerNode> {
  const node = new TransportNode(options)
  await node.listen(options.port)
  return node
}

/** A name in the handshake has a byte for its length. */
const NAME_BYTES_MAX = 255

class TransportNode implements PeerNode {
  readonly nodeId: NodeId
  readonly #options: PeerNodeOptions
  readonly #deadlines: Deadlines
  readonly #identity: Identity
  readonly #dialling: Dialling
  readonly #service: Service
  readonly #links = new Map<NodeId, DialledLink>()
  readonly #strangers: Strangers
  readonly #refusals: RefusalLog
  /** By node and lane. */
  readonly #served = new Map<string, ServingSide>()
  /** Those that take no more calls, beside which the same node has connected again. */
  readonly #retired = new Set<ServingSide>()
  #listener: ChannelListener | undefined
  #closing: Promise<void> | undefined
  #onServedGone: (() => void) | undefined

  constructor(options: PeerNodeOptions) {
    const { transport, secrets, limits, clock, log, cluster, nodeId } = options
    checkLimits(limits)
    for (const { length } of secrets.value) {
      assert(length >= SECRET_BYTES_MIN, 'a cluster secret of at least 16 bytes')
    }
    secrets.onReplaced((known) => this.#retire(known))
    for (const name of [cluster, nodeId]) {
      assert(Buffer.byteLength(name) <= NAME_BYTES_MAX, 'a name of at most 255 bytes')
    }
    this.#options = options
    this.nodeId = nodeId
    this.#deadlines = new Deadlines(clock)
    this.#strangers = new Strangers(limits.strangersMax)
    this.#refusals = new RefusalLog(log, clock)
    this.#identity = {
      cluster,
      nodeId,
      versions: options.versions,
      secrets: () => secrets.value,
      termsOf: (lane) => termsOf(limits, lane),
      randomBytes: (length) => options.randomBytes(length),
    }
    const shared = { deadlines: this.#deadlines, log }
    this.#dialling = {
      ...shared,
      transport,
      identity: this.#identity,
      limits,
      clock,
      random: options.random,
    }
    this.#service = {
      ...shared,
      handlers: options.handlers,
      largeBytesMax: limits.largeBytesMax,
      nowMs: () => clock.monotonicMs(),
      onFault: (error) => options.onFault(error),
    }
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }

  async listen(port: number): Promise<void> {
    this.#listener = await this.#options.transport.listen(port, (channel) => this.#accept(channel))
  }

  link(address: PeerAddress): PeerLink {
    assert(this.#closing === undefined, 'a node that is not closed')
    const known = this.#links.get(address.nodeId)
    if (known !== undefined) {
      if (known.peer.host === address.host && known.peer.port === address.port) return known
      void known.close()
    }
    const link: DialledLink = new DialledLink(this.#dialling, address, () => {
      if (this.#links.get(address.nodeId) === link) this.#links.delete(address.nodeId)
    })
    this.#links.set(address.nodeId, link)
    return link
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.#listener?.close()
    this.#strangers.evictAll()
    const gone = Promise.withResolvers<void>()
    this.#onServedGone = () => {
      if (this.#served.size + this.#retired.size === 0) gone.resolve()
    }
    for (const side of this.#served.values()) side.leave()
    const late = this.#deadlines.after(this.#options.limits.graceMs, () => {
      for (const { connection } of [...this.#served.values(), ...this.#retired]) {
        connection.close('the node is closing')
      }
    })
    this.#onServedGone()
    await gone.promise
    late.cancel()
    for (const link of this.#links.values()) await link.close()
    this.#deadlines.clear()
  }

  /** A secret may have been taken away because a stranger knows it, whose connections end too. */
  #retire(known: readonly Uint8Array[]): void {
    for (const [name, side] of this.#served) {
      const { secret } = side.connection.session
      if (known.some((one) => Buffer.compare(one, secret) === 0)) continue
      this.#served.delete(name)
      this.#retired.add(side)
      side.leave()
      this.#deadlines.after(this.#options.limits.graceMs, () =>
        side.connection.close('the secret that it was opened by is no longer accepted'),
      )
    }
  }

  #accept(channel: ByteChannel): void {
    if (this.#closing !== undefined) return channel.destroy()
    const stranger: Stranger = {
      address: addressOf(channel.remote),
      evict: () => channel.destroy(),
    }
    this.#strangers.add(stranger)
    // A stranger that was refused and does not close its end is not waited for either.
    const deadline = this.#deadlines.after(this.#options.limits.handshakeMs, () => {
      this.#strangers.delete(stranger)
      channel.destroy()
    })
    const stage = new HandshakeStage(channel, 2 * HANDSHAKE_BYTES_MAX)
    acceptHandshake(stage, this.#identity, () => this.#strangers.promote(stranger)).then(
      (session) => {
        deadline.cancel()
        this.#strangers.delete(stranger)
        this.#serve(channel, { session, stage })
      },
      (error: unknown) => this.#refuse(channel, messageOf(error)),
    )
  }

  #refuse(channel: ByteChannel, reason: string): void {
    this.#refusals.add(channel.remote, reason)
    channel.end()
  }

  #serve(
    channel: ByteChannel,
    { session, stage }: { readonly session: Session; readonly stage: HandshakeStage },
  ): void {
    const name = `${session.lane} ${session.peer}`
    const older = this.#served.get(name)
    older?.connection.close('the other node connected again')
    if (this.#closing !== undefined || this.#served.size >= this.#options.limits.connectionsMax) {
      this.#options.log.warn('peer refused', { peer: session.peer, reason: 'too many connections' })
      return channel.destroy()
    }
    const { clock } = this.#options
    const side: ServingSide = new ServingSide({ channel, session, clock }, this.#service, () => {
      if (this.#served.get(name) === side) this.#served.delete(name)
      this.#retired.delete(side)
      this.#onServedGone?.()
    })
    this.#served.set(name, side)
    side.takeOver(stage)
  }
}
