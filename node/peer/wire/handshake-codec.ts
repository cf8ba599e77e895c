// The bytes of a handshake. Format: docs/reference/formats/peer-protocol.md.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { LaneTerms } from '../peer-limits.ts'
import { LANES } from '../peer.ts'
import type { Lane, NodeId } from '../peer.ts'

export const HANDSHAKE_BYTES_MAX = 1024
export const NONCE_BYTES = 32
const PROOF_BYTES = 32
const MAGIC = Buffer.from('QRYPEER\u0001', 'latin1')
const LENGTH_BYTES = 4
/** Names and reasons are cut to it, so that each message fits HANDSHAKE_BYTES_MAX. */
const TEXT_BYTES_MAX = 255

/** The protocol versions that a node speaks, both included. */
export interface VersionRange {
  readonly min: number
  readonly max: number
}

/** The dialer's first message. */
export interface Hello {
  readonly kind: 'hello'
  readonly versions: VersionRange
  readonly lane: Lane
  readonly terms: LaneTerms
  readonly nonce: Buffer
  readonly cluster: string
  readonly from: NodeId
  readonly to: NodeId
}

/** The acceptor's answer to a hello that it can talk with. */
export interface Challenge {
  readonly kind: 'challenge'
  readonly version: number
  readonly terms: LaneTerms
  readonly nonce: Buffer
  readonly from: NodeId
}

/** The dialer shows that it knows the secret. */
export interface Proof {
  readonly kind: 'proof'
  readonly proof: Buffer
}

/** The acceptor shows it too. From here on both sides send records. */
export interface Welcome {
  readonly kind: 'welcome'
  readonly proof: Buffer
}

/** The acceptor's last message on a connection that it does not take. */
export interface Refusal {
  readonly kind: 'refusal'
  readonly reason: string
}

export type HandshakeMessage = Hello | Challenge | Proof | Welcome | Refusal

const TYPES: readonly HandshakeMessage['kind'][] = [
  'hello',
  'challenge',
  'proof',
  'welcome',
  'refusal',
]

/** The message with its length before it. */
export function encodeHandshake(message: HandshakeMessage): Buffer {
  const body = Buffer.concat([Buffer.of(TYPES.indexOf(message.kind)), ...partsOf(message)])
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}

function partsOf(message: HandshakeMessage): readonly Buffer[] {
  switch (message.kind) {
    case 'hello': {
      const { versions, lane, terms, nonce, cluster, from, to } = message
      const numbers = [u16(versions.min), u16(versions.max), Buffer.of(LANES.indexOf(lane))]
      return [MAGIC, ...numbers, terms32(terms), nonce, text(cluster), text(from), text(to)]
    }
    case 'challenge':
      return [u16(message.version), terms32(message.terms), message.nonce, text(message.from)]
    case 'refusal':
      return [text(message.reason)]
    case 'proof':
    case 'welcome':
      return [message.proof]
    default:
      return unreachable(message)
  }
}

/**
 * Decodes a message without its length. Bytes after the known fields are ignored: a later version may
 * add fields. Throws a ServiceError with CORRUPTION for anything else.
 */
export function decodeHandshake(body: Buffer): HandshakeMessage {
  const kind = TYPES[body[0] ?? TYPES.length]
  const reader = new FieldReader(body)
  switch (kind) {
    case 'hello':
      return decodeHello(reader)
    case 'challenge': {
      const [version, terms] = [reader.u16(), reader.terms()]
      return { kind, version, terms, nonce: reader.bytes(NONCE_BYTES), from: reader.text() }
    }
    case 'proof':
      return { kind, proof: reader.bytes(PROOF_BYTES) }
    case 'welcome':
      return { kind, proof: reader.bytes(PROOF_BYTES) }
    case 'refusal':
      return { kind, reason: reader.text() }
    case undefined:
    default:
      throw corrupt('a message of an unknown type')
  }
}

function decodeHello(reader: FieldReader): Hello {
  if (!reader.bytes(MAGIC.length).equals(MAGIC)) throw corrupt('no hello of a peer')
  const versions = { min: reader.u16(), max: reader.u16() }
  const lane = LANES[reader.u8()]
  if (lane === undefined) throw corrupt('an unknown lane')
  if (versions.min > versions.max) throw corrupt('an empty range of versions')
  const [terms, nonce] = [reader.terms(), reader.bytes(NONCE_BYTES)]
  const [cluster, from, to] = [reader.text(), reader.text(), reader.text()]
  return { kind: 'hello', versions, lane, terms, nonce, cluster, from, to }
}

/** Reads fields in order. A field that is cut off is CORRUPTION. */
class FieldReader {
  readonly #body: Buffer
  #at = 1 // behind the type

  constructor(body: Buffer) {
    this.#body = body
  }

  bytes(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#body.length) throw corrupt('a message that is cut off')
    const found = this.#body.subarray(this.#at, end)
    this.#at = end
    return found
  }

  u8(): number {
    return this.bytes(1).readUInt8()
  }

  u16(): number {
    return this.bytes(2).readUInt16BE()
  }

  u32(): number {
    return this.bytes(4).readUInt32BE()
  }

  text(): string {
    return this.bytes(this.u8()).toString()
  }

  terms(): LaneTerms {
    const [streamsMax, windowBytes] = [this.u32(), this.u32()]
    const [messageBytesMax, silenceMs] = [this.u32(), this.u32()]
    return { streamsMax, windowBytes, messageBytesMax, silenceMs }
  }
}

function corrupt(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `the handshake has ${what}`)
}

function u16(value: number): Buffer {
  const out = Buffer.alloc(2)
  out.writeUInt16BE(value)
  return out
}

function terms32({ streamsMax, windowBytes, messageBytesMax, silenceMs }: LaneTerms): Buffer {
  const out = Buffer.alloc(16)
  for (const [at, value] of [streamsMax, windowBytes, messageBytesMax, silenceMs].entries()) {
    out.writeUInt32BE(value, at * 4)
  }
  return out
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value).subarray(0, TEXT_BYTES_MAX)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}
