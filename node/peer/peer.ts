// How nodes talk to each other. The bytes: docs/reference/formats/peer-protocol.md. Why so: decision 0053.

import { ServiceError, type ErrorCode } from '../../lib/errors.ts'

/** A node's identity: the `dataDirUuid` of its data directory. */
export type NodeId = string

/**
 * A lane is a connection of its own, so that a snapshot on `bulk` does not delay a heartbeat on
 * `prompt`.
 */
export const LANES = ['prompt', 'bulk'] as const
export type Lane = (typeof LANES)[number]

/** Whether the other side may have acted on a call that failed. */
export type Happened = 'nothing' | 'unknown'

export type TransportErrorCode = Extract<
  ErrorCode,
  'UNAVAILABLE' | 'DEADLINE_EXCEEDED' | 'OVERLOADED' | 'CANCELLED' | 'INVALID_ARGUMENT'
>

/**
 * The transport failed, and not the handler. `happened` is `nothing` if the handler did not run and
 * will not: a retry anywhere is safe. Otherwise it is `unknown`.
 */
export class TransportError extends ServiceError {
  readonly happened: Happened

  constructor(code: TransportErrorCode, message: string, happened: Happened) {
    super(code, message)
    this.happened = happened
  }
}

/**
 * The bytes of a message. A function receives the protocol version of the connection that carries
 * them, because a link may reconnect to a node that was upgraded meanwhile. It must not throw.
 */
export type Body = Uint8Array | ((version: number) => Uint8Array)

/** What is asked of the other node: a number that both sides' users know, and its argument. */
export interface Call {
  readonly operation: number
  readonly body: Body
}

/** How a call travels, and how long its caller waits. */
export interface CallOptions {
  /** Default: `prompt`. */
  readonly lane?: Lane
  /** True: before the lane's other messages. Default: false. */
  readonly urgent?: boolean
  /** The time until DEADLINE_EXCEEDED, which the other side keeps too. Undefined: as long as it takes. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** How a one-way message travels. */
export interface SendOptions {
  readonly lane?: Lane
}

/** The state of a lane. `connected` names the version that both sides speak. */
export type LaneState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected'; readonly version: number }
  | { readonly kind: 'waiting'; readonly reason: string; readonly retryMs: number }
  | { readonly kind: 'closed' }

/** Called after each change of a lane's state. */
export type LaneListener = (lane: Lane, state: LaneState) => void

/** Where a node is, and who must answer there. */
export interface PeerAddress {
  readonly nodeId: NodeId
  readonly host: string
  readonly port: number
}

/**
 * One node's way to one other node. The other node's way back is a link of its own.
 *
 * Contract, checked for both transports by test/conformance/peer-node.ts:
 * - A lane connects when it is first used. When its connection is lost, it connects again after a
 *   growing delay, until the link is closed. Meanwhile calls fail at once: UNAVAILABLE, `nothing`.
 *   Calls made while it connects wait for the outcome.
 * - `call` resolves with the handler's answer. It rejects with the handler's ServiceError, with a
 *   TransportError, or with the signal's reason. A handler runs at most once for each call.
 * - A lost connection rejects its calls: UNAVAILABLE, `nothing` if no byte of the call was sent,
 *   otherwise `unknown`. No call is sent twice.
 * - When the deadline passes or the signal aborts, the call rejects at once, and the signal of its
 *   handler aborts.
 * - `stream` begins with the first `next`. Its parts come in order and whole. The other side produces
 *   no more than a window ahead of the reader. An early `return` aborts the handler's signal.
 * - `upload` sends `parts` as the handler takes them, and no more than a window ahead. It stops taking
 *   parts when the handler has answered. If `parts` throws, the upload is cancelled and rejects with that.
 * - `send` is one-way. Messages of a lane arrive in the order of their sends, each at most once. Only
 *   the end of a connection makes a gap, and `onState` tells of it. Answers false if the message was
 *   dropped: the lane is not connected, or too many bytes wait. A send connects an idle lane.
 * - A message larger than `messageBytesMax` of the other side is refused: PAYLOAD_TOO_LARGE.
 * - More than `waitingMax` calls that wait for a place are refused: OVERLOADED, `nothing`.
 * - Listeners hear of each change, in order. A listener must not throw.
 * - After `close` calls reject, UNAVAILABLE and `nothing`; those that run reject with `unknown`.
 */
export interface PeerLink {
  readonly peer: PeerAddress
  state(lane: Lane): LaneState
  onState(listener: LaneListener): () => void
  call(call: Call, options?: CallOptions): Promise<Buffer>
  stream(call: Call, options?: CallOptions): AsyncIterable<Buffer>
  upload(call: Call, parts: AsyncIterable<Uint8Array>, options?: CallOptions): Promise<Buffer>
  send(message: Call, options?: SendOptions): boolean
  close(): Promise<void>
}

/** A call as its handler sees it. */
export interface PeerRequest {
  readonly from: NodeId
  /** The protocol version of the connection, for reading the body and writing the answer. */
  readonly version: number
  readonly body: Buffer
  /**
   * Aborts when the caller left, its deadline passed or the connection was lost. The caller's place
   * stays taken until the handler settles.
   */
  readonly signal: AbortSignal
  /** The time left until the caller's deadline; undefined if it has none. Never below 0. */
  remainingMs(): number | undefined
}

/** An upload. `parts` ends with an error when the caller leaves or fails. */
export interface UploadRequest extends PeerRequest {
  readonly parts: AsyncIterable<Buffer>
}

/** A one-way message as its handler sees it. */
export interface PeerMessage {
  readonly from: NodeId
  readonly version: number
  readonly body: Buffer
}

/**
 * What a node does for others. A ServiceError goes to the caller with its code and message. Any other
 * error is a fault of ours: the caller hears INTERNAL without details, and `onFault` hears the error.
 * An answer stays in memory until its caller has read it, so large ones should be streams.
 * `message` is called in the order of the messages, without waiting for earlier ones. Its promise
 * returns the sender's window.
 */
export type PeerHandler =
  | { readonly kind: 'call'; handle(request: PeerRequest): Promise<Uint8Array> }
  | { readonly kind: 'stream'; handle(request: PeerRequest): AsyncIterable<Uint8Array> }
  | { readonly kind: 'upload'; handle(request: UploadRequest): Promise<Uint8Array> }
  | { readonly kind: 'message'; handle(message: PeerMessage): Promise<void> | undefined }

/**
 * The handlers by operation. A call of another operation or kind is refused, and nothing happened: INVALID_ARGUMENT,
 * or UNAVAILABLE while the node starts and `isComplete` is false.
 */
export type PeerHandlers = ReadonlyMap<number, PeerHandler> & { readonly isComplete?: boolean }

/** The refusal of a call that no handler takes. */
export function noHandler(
  { isComplete = true }: PeerHandlers,
  { operation, kind }: { readonly operation: number; readonly kind: PeerHandler['kind'] },
): TransportError {
  if (!isComplete) return new TransportError('UNAVAILABLE', 'the node is starting', 'nothing')
  const message = `the node has no operation ${operation} of kind "${kind}"`
  return new TransportError('INVALID_ARGUMENT', message, 'nothing')
}

/**
 * One node's end of all its links.
 *
 * Contract:
 * - `link` answers the same link for the same node id while the link is open. A new host or port
 *   replaces it: the older link is closed.
 * - Only nodes of the same cluster that prove it are served. Nothing else reaches a handler.
 * - `close` accepts no more calls and tells the other nodes so. It lets the running ones end for
 *   `graceMs`, then aborts them.
 */
export interface PeerNode extends AsyncDisposable {
  readonly nodeId: NodeId
  readonly port: number
  link(address: PeerAddress): PeerLink
  close(): Promise<void>
}
