// Messages between replicas over the links of nodes. Described in docs/reference/formats/replication-messages.md.
//
// Invariants:
//   RPE1  Messages to one node about one shard arrive in the order in which they were sent, or are lost.
//   RPE2  What waits in memory to be sent, and what long messages bring, is bounded.

import { isServiceError, messageOf, ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type {
  PeerHandler,
  PeerHandlers,
  PeerLink,
  PeerMessage,
  UploadRequest,
} from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { BeatNetwork } from '../replication/shell/node-beats.ts'
import type { ReplicaNetwork } from '../replication/shell/replica-surroundings.ts'
import { shardOfMessage } from '../replication/shell/message-codec.ts'

/** The numbers are part of the peer protocol. */
const MESSAGE = 1
const LONG_MESSAGE = 2
const BEAT = 3

const MIB = 1024 * 1024
/** A longer message has one entry, and would hold up the lane of all others. */
const MESSAGE_BYTES_MAX = 2 * MIB
/** The largest entry is the body of the largest request, and some bytes for each document. */
const LONG_MESSAGE_BYTES_MAX = 128 * MIB
/** Long messages that arrive or wait to be sent, all together. */
const LONG_BYTES_MAX = 256 * MIB

/** How replicas reach other nodes. */
export interface ReplicaPeersOptions {
  /** The way to a node; undefined while nobody knows its address. */
  readonly linkTo: (node: NodeId) => PeerLink | undefined
  readonly log: Log
  /** Long messages that wait to be sent, all together. Default: 256 MiB. */
  readonly waitingBytesMax?: number
}

/** Where messages of other nodes go. Resolves when the next one of the same node may come. */
export type ReceiveMessage = (from: NodeId, message: Buffer) => Promise<void>

/** Where beats of other nodes go. */
export type ReceiveBeat = (from: NodeId, beat: Buffer) => void

/** What a node does with what others send to its replicas. */
export interface ReceivingReplicas {
  readonly receive: ReceiveMessage
  readonly receiveBeat: ReceiveBeat
}

/** Sends messages of replicas: short ones as they are, long ones as uploads. */
export class ReplicaPeers implements ReplicaNetwork, BeatNetwork {
  readonly #with: ReplicaPeersOptions
  /** The messages behind a long one, by node and shard, in order. */
  readonly #waiting = new Map<string, Buffer[]>()
  #waitingBytes = 0

  constructor(options: ReplicaPeersOptions) {
    this.#with = options
  }

  /** A message that cannot be sent now is lost: the replicas repeat what matters. */
  send(to: NodeId, message: Buffer): void {
    const lane = `${to}/${shardOfMessage(message)}`
    const waiting = this.#waiting.get(lane)
    const isLong = message.length > MESSAGE_BYTES_MAX
    if (waiting === undefined && !isLong) return this.#send(to, message)
    const { waitingBytesMax = LONG_BYTES_MAX } = this.#with
    if (this.#waitingBytes + message.length > waitingBytesMax) return
    this.#waitingBytes += message.length
    if (waiting !== undefined) return void waiting.push(message)
    const queue = [message]
    this.#waiting.set(lane, queue)
    void this.#sendInOrder(to, queue).finally(() => this.#waiting.delete(lane))
  }

  sendBeat(to: NodeId, beat: Buffer): void {
    this.#with.linkTo(to)?.send({ operation: BEAT, body: beat })
  }

  #send(to: NodeId, message: Buffer): void {
    this.#with.linkTo(to)?.send({ operation: MESSAGE, body: message })
  }

  async #sendInOrder(to: NodeId, queue: Buffer[]): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      if (next.length > MESSAGE_BYTES_MAX) await this.#upload(to, next)
      else this.#send(to, next)
      this.#waitingBytes -= next.length
    }
  }

  async #upload(to: NodeId, message: Buffer): Promise<void> {
    const call = { operation: LONG_MESSAGE, body: Buffer.alloc(0) }
    try {
      await this.#with.linkTo(to)?.upload(call, partsOf(message), { lane: 'bulk' })
    } catch (error) {
      const fields = { to, bytes: message.length, error: messageOf(error) }
      this.#with.log.debug('long replication message lost', fields)
    }
  }
}

async function* partsOf(message: Buffer): AsyncGenerator<Uint8Array, undefined> {
  for (let at = 0; at < message.length; at += MIB) yield message.subarray(at, at + MIB)
}

/** The handlers of a node that has replicas. Damaged messages are refused, and change nothing. */
export function replicaHandlers(
  { receive, receiveBeat }: ReceivingReplicas,
  log: Log,
): PeerHandlers {
  let longBytes = 0
  const collect = async ({ parts, from }: UploadRequest): Promise<Uint8Array> => {
    const collected: Buffer[] = []
    let bytes = 0
    try {
      for await (const part of parts) {
        bytes += part.length
        longBytes += part.length
        if (bytes > LONG_MESSAGE_BYTES_MAX) throw tooLong()
        if (longBytes > LONG_BYTES_MAX) throw tooManyLong()
        collected.push(part)
      }
      await receive(from, Buffer.concat(collected))
      return Buffer.alloc(0)
    } finally {
      longBytes -= bytes
    }
  }
  const refused = (from: NodeId, error: unknown): void => {
    if (!isServiceError(error)) throw error
    log.warn('replication message refused', { from, error: error.message })
  }
  const take = ({ from, body }: PeerMessage): Promise<void> =>
    receive(from, body).catch((error: unknown) => refused(from, error))
  const takeBeat = async ({ from, body }: PeerMessage): Promise<void> => {
    try {
      receiveBeat(from, body)
    } catch (error) {
      refused(from, error)
    }
  }
  return new Map<number, PeerHandler>([
    [MESSAGE, { kind: 'message', handle: take }],
    [BEAT, { kind: 'message', handle: takeBeat }],
    [LONG_MESSAGE, { kind: 'upload', handle: collect }],
  ])
}

function tooLong(): ServiceError {
  const problem = `a replication message has at most ${LONG_MESSAGE_BYTES_MAX} bytes`
  return new ServiceError('PAYLOAD_TOO_LARGE', problem)
}

function tooManyLong(): ServiceError {
  const problem = 'too many long replication messages arrive at once; send this one again later'
  return new ServiceError('OVERLOADED', problem)
}
