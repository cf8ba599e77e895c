import { assert } from '../../lib/assert.ts'
import type { Lane } from './peer.ts'

/** How much one side of a connection lets the other one send. Both sides tell theirs in the handshake. */
export interface LaneTerms {
  /** Calls at once on a connection. */
  readonly streamsMax: number
  /** What may be sent on a stream before its reader takes something. */
  readonly windowBytes: number
  /** The largest message that is taken. */
  readonly messageBytesMax: number
  /** A connection that brings nothing for this long is lost. */
  readonly silenceMs: number
}

/** Every bound of the transport. */
export interface PeerLimits {
  readonly lanes: Readonly<Record<Lane, Omit<LaneTerms, 'silenceMs' | 'messageBytesMax'>>>
  readonly messageBytesMax: number
  /** For messages above a window, all together, on each connection. */
  readonly largeBytesMax: number
  readonly silenceMs: number
  /** One-way messages that wait on a lane, in bytes. */
  readonly sendBytesMax: number
  /** Calls on a lane that wait for a connection or for one of `streamsMax` places. */
  readonly waitingMax: number
  /** From the first byte of a dial to the end of the handshake, on both sides. */
  readonly handshakeMs: number
  /** The most connections without a proof. A further one closes another of them (channels/strangers.ts). */
  readonly strangersMax: number
  /** The most connections with a proof. A further one is refused. */
  readonly connectionsMax: number
  readonly graceMs: number
  readonly backoff: { readonly baseMs: number; readonly capMs: number }
}

/** What a message costs of a window beside its bytes, so that empty messages are bounded too. */
export const MESSAGE_COST_BYTES = 64

const KIB = 1024
const MIB = 1024 * KIB

/** At most 96 MiB for a connection: 32 or 64 in windows, 32 for large messages. */
export const PEER_LIMITS: PeerLimits = {
  lanes: {
    prompt: { streamsMax: 512, windowBytes: 64 * KIB },
    bulk: { streamsMax: 64, windowBytes: MIB },
  },
  messageBytesMax: 32 * MIB - MESSAGE_COST_BYTES,
  largeBytesMax: 32 * MIB,
  silenceMs: 4000,
  sendBytesMax: 16 * MIB,
  waitingMax: 10_000,
  handshakeMs: 5000,
  strangersMax: 512,
  connectionsMax: 1024,
  graceMs: 10_000,
  backoff: { baseMs: 50, capMs: 2000 },
}

/** Checks that the limits fit together. */
export function checkLimits(limits: PeerLimits): void {
  const { messageBytesMax, largeBytesMax, lanes } = limits
  assert(
    messageBytesMax + MESSAGE_COST_BYTES <= largeBytesMax,
    'the largest message fits the bytes for large messages',
  )
  for (const { windowBytes } of Object.values(lanes)) {
    assert(windowBytes >= 1024, 'a window holds at least a small message')
  }
}

export function termsOf(limits: PeerLimits, lane: Lane): LaneTerms {
  const { silenceMs, messageBytesMax } = limits
  return { ...limits.lanes[lane], silenceMs, messageBytesMax }
}
