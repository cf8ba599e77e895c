// One lane of a link: the connection for new calls, and how it comes back.
//
//   idle ──first use──► connecting ──handshake──► connected
//                         ▲   └──failed──► waiting ◄──lost, goodbye──┘
//                         └──────delay───────┘            any ──close──► closed

import { backoffDelayMs } from '../../../lib/backoff.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import { CallingSide } from './calling-side.ts'
import type { Deadlines } from '../deadlines.ts'
import { dialHandshake } from '../wire/handshake.ts'
import type { Identity, Session } from '../wire/handshake.ts'
import { HandshakeStage } from '../wire/handshake-stage.ts'
import type { PeerLimits } from '../peer-limits.ts'
import { TransportError } from '../peer.ts'
import type { Lane, LaneState, PeerAddress } from '../peer.ts'
import type { ByteChannel, PeerTransport } from '../transport.ts'

const WELCOME_AND_RECORDS_BYTES_MAX = 1024 * 1024

/** What links share: how a node connects to others. */
export interface Dialling {
  readonly transport: PeerTransport
  readonly identity: Identity
  readonly limits: PeerLimits
  readonly clock: Clock
  readonly random: Random
  readonly deadlines: Deadlines
  readonly log: Log
}

/** One lane of a link to one node. */
export class PeerLane {
  readonly #lane: Lane
  readonly #peer: PeerAddress
  readonly #dialling: Dialling
  readonly #onState: (state: LaneState) => void
  readonly #closed = new AbortController()
  /** All connections that are not lost, the one for new calls among them. */
  readonly #sides = new Set<CallingSide>()
  #state: LaneState = { kind: 'idle' }
  #current: CallingSide | undefined
  #connecting: PromiseWithResolvers<CallingSide> | undefined
  #waiting = 0
  #failures = 0
  /** Why there is no connection, as the log has it; undefined while there is one. */
  #toldReason: string | undefined

  constructor(
    dialling: Dialling,
    { lane, peer }: { readonly lane: Lane; readonly peer: PeerAddress },
    onState: (state: LaneState) => void,
  ) {
    this.#dialling = dialling
    this.#lane = lane
    this.#peer = peer
    this.#onState = onState
  }

  get state(): LaneState {
    return this.#state
  }

  /** How many wait in `connected`. */
  get waiting(): number {
    return this.#waiting
  }

  /** The connection for new calls. Connects an idle lane. */
  get current(): CallingSide | undefined {
    if (this.#state.kind === 'idle') this.#connect()
    return this.#current
  }

  /** The connection, as soon as its handshake has ended. Rejects with a TransportError: `nothing`. */
  async connected(): Promise<CallingSide> {
    const current = this.current
    if (current !== undefined) return current
    if (this.#connecting !== undefined) {
      this.#waiting += 1
      return this.#connecting.promise
    }
    const state = this.#state
    throw this.#unavailable(state.kind === 'waiting' ? state.reason : 'the link is closed')
  }

  /** Fails the calls that run. */
  close(): void {
    if (this.#state.kind === 'closed') return
    this.#setState({ kind: 'closed' })
    this.#closed.abort(new Error('the link is closed'))
    for (const { connection } of this.#sides) connection.close('the link was closed')
    this.#current = undefined
    this.#settleConnecting('the link is closed')
  }

  #setState(state: LaneState): void {
    this.#state = state
    this.#onState(state)
  }

  #connect(): void {
    this.#waiting = 0
    this.#connecting = Promise.withResolvers()
    this.#connecting.promise.catch(() => undefined) // perhaps nobody waits
    this.#setState({ kind: 'connecting' })
    this.#dial().then(
      (side) => this.#onConnected(side),
      (error: unknown) => this.#onFailed(messageOf(error)),
    )
  }

  /** A connection after its handshake. Nothing of a failed one is left. */
  async #dial(): Promise<CallingSide> {
    const { transport, limits, deadlines } = this.#dialling
    const late = new AbortController()
    const signal = AbortSignal.any([late.signal, this.#closed.signal])
    const deadline = deadlines.after(limits.handshakeMs, () => {
      late.abort(new Error(`no handshake within ${limits.handshakeMs} ms`))
    })
    let channel: ByteChannel | undefined
    const onAbort = (): void => channel?.destroy()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      channel = await transport.connect(this.#peer, signal)
      return await this.#shakeHands(channel)
    } catch (error) {
      channel?.destroy()
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', onAbort)
      deadline.cancel()
    }
  }

  async #shakeHands(channel: ByteChannel): Promise<CallingSide> {
    const stage = new HandshakeStage(channel, WELCOME_AND_RECORDS_BYTES_MAX)
    const goal = { lane: this.#lane, to: this.#peer.nodeId }
    const session = await dialHandshake(stage, this.#dialling.identity, goal)
    const side = this.#sideOf(channel, session)
    side.takeOver(stage)
    return side
  }

  #sideOf(channel: ByteChannel, session: Session): CallingSide {
    const { clock, limits } = this.#dialling
    const side: CallingSide = new CallingSide({ channel, session, clock }, limits, {
      onLeaving: (reason) => this.#onGone(side, reason),
      onLost: (reason) => {
        this.#sides.delete(side)
        this.#onGone(side, reason)
      },
    })
    this.#sides.add(side)
    return side
  }

  #onConnected(side: CallingSide): void {
    if (this.#state.kind === 'closed') return side.connection.close('the link is closed')
    if (side.connection.isLost) return this.#onFailed('the connection was lost at once')
    this.#failures = 0
    this.#current = side
    this.#tellThatItIsBack()
    this.#setState({ kind: 'connected', version: side.version })
    this.#connecting?.resolve(side)
    this.#connecting = undefined
  }

  #tellThatItIsBack(): void {
    if (this.#toldReason === undefined) return
    this.#toldReason = undefined
    const { nodeId } = this.#peer
    this.#dialling.log.info('connected to the peer again', { nodeId, lane: this.#lane })
  }

  #onGone(side: CallingSide, reason: string): void {
    if (this.#current !== side) return
    this.#current = undefined
    this.#waitAndRetry(reason)
  }

  #onFailed(reason: string): void {
    if (this.#state.kind === 'closed') return
    this.#waitAndRetry(reason)
    this.#settleConnecting(reason)
  }

  #waitAndRetry(reason: string): void {
    if (this.#state.kind === 'closed') return
    const { limits, random, clock, log } = this.#dialling
    const policy = { ...limits.backoff, retriesMax: Infinity }
    const retryMs = backoffDelayMs(policy, this.#failures, random)
    this.#failures += 1
    const { nodeId } = this.#peer
    const fields = { nodeId, lane: this.#lane, reason, retryMs: Math.round(retryMs) }
    // Retries come several times a second, and give several reasons for one outage: it is told once.
    if (this.#toldReason !== undefined) log.debug('no connection to a peer', fields)
    else log.warn('no connection to a peer', fields)
    this.#toldReason = reason
    this.#setState({ kind: 'waiting', reason, retryMs })
    clock.sleep(retryMs, this.#closed.signal).then(
      () => this.#connect(),
      () => undefined, // closed
    )
  }

  #settleConnecting(reason: string): void {
    this.#connecting?.reject(this.#unavailable(reason))
    this.#connecting = undefined
  }

  #unavailable(reason: string): TransportError {
    const message = `no connection to node ${this.#peer.nodeId}: ${reason}`
    return new TransportError('UNAVAILABLE', message, 'nothing')
  }
}
