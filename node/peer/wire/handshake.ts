// Who is there, of which cluster, and which version do we speak? Format: docs/reference/formats/peer-protocol.md.
//
//   dialer    hello ───────────►        names, versions, limits, nonce
//             ◄──────── challenge       version, limits, nonce
//             proof ───────────►        the dialer knows the secret, or another one that the acceptor takes
//             ◄────────── welcome       so does the acceptor
//
// Invariants:
//   PH1  A session begins only after the other side's proof over both nonces was checked.
//   PH2  The acceptor proves nothing to a dialer that has not proved itself.
//   PH3  A refusal changes nothing but the connection, which ends. It tells a stranger no name; the reason is for our log.

import { timingSafeEqual } from 'node:crypto'
import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { decodeHandshake, encodeHandshake, NONCE_BYTES } from './handshake-codec.ts'
import type { Challenge, HandshakeMessage, Hello, VersionRange } from './handshake-codec.ts'
import type { HandshakeStage } from './handshake-stage.ts'
import type { LaneTerms } from '../peer-limits.ts'
import type { Lane, NodeId } from '../peer.ts'
import { keyedCheck, plainCheck, RecordOpener, RecordSealer } from './record-codec.ts'
import { deriveKeys } from './session-keys.ts'
import type { SessionKeys } from './session-keys.ts'

/** What a node says of itself, and how it proves it. */
export interface Identity {
  readonly cluster: string
  readonly nodeId: NodeId
  readonly versions: VersionRange
  /** The first is shown to other nodes. They may show any of them. */
  secrets(): readonly Uint8Array[]
  termsOf(lane: Lane): LaneTerms
  randomBytes(length: number): Buffer
}

/** What both sides agreed on. */
export interface Session {
  readonly peer: NodeId
  readonly lane: Lane
  readonly version: number
  /** What the other side may send us. */
  readonly ours: LaneTerms
  /** What we may send it. */
  readonly theirs: LaneTerms
  readonly sealer: RecordSealer
  readonly opener: RecordOpener
  /** By which both have proved themselves. */
  readonly secret: Uint8Array
}

/** The end of a handshake that went wrong. FORBIDDEN: a stranger or the wrong node. */
function refused(reason: string): ServiceError {
  return new ServiceError('FORBIDDEN', reason)
}

/** Which node on which lane. */
export interface DialGoal {
  readonly lane: Lane
  readonly to: NodeId
}

/** The dialer's side. Throws a ServiceError if the other side refuses or is not the one. */
export async function dialHandshake(
  stage: HandshakeStage,
  me: Identity,
  { lane, to }: DialGoal,
): Promise<Session> {
  const hello: Hello = {
    kind: 'hello',
    versions: me.versions,
    lane,
    terms: me.termsOf(lane),
    nonce: me.randomBytes(NONCE_BYTES),
    cluster: me.cluster,
    from: me.nodeId,
    to,
  }
  const sentHello = encodeHandshake(hello)
  stage.send(sentHello)

  const gotChallenge = await stage.next()
  const challenge = expectKind(decodeMessage(gotChallenge), 'challenge')
  if (challenge.from !== to) throw refused(`node ${challenge.from} answers, not node ${to}`)
  if (challenge.version < me.versions.min || challenge.version > me.versions.max) {
    throw refused(`node ${to} chose protocol version ${challenge.version}`)
  }

  const secret = must(me.secrets()[0], 'a secret of the cluster')
  const keys = keysOf(stage, secret, [sentHello, gotChallenge])
  stage.send(encodeHandshake({ kind: 'proof', proof: keys.dialerProof }))
  const welcome = expectKind(decodeMessage(await stage.next()), 'welcome')
  if (!timingSafeEqual(welcome.proof, keys.acceptorProof)) {
    throw refused(`node ${to} does not prove that it belongs to cluster "${me.cluster}"`)
  }
  const checks = checksOf(stage, keys)
  return {
    peer: to,
    lane,
    version: challenge.version,
    ours: hello.terms,
    theirs: challenge.terms,
    sealer: new RecordSealer(checks.toAcceptor),
    opener: new RecordOpener(checks.toDialer),
    secret,
  }
}

/**
 * The acceptor's side. For a stranger it sends a refusal without a reason and throws a ServiceError that has it:
 * FORBIDDEN, or CORRUPTION for something else than a handshake, which gets no answer. `onNamed` is called when the other side knows
 * our names.
 */
export async function acceptHandshake(
  stage: HandshakeStage,
  me: Identity,
  onNamed: () => void = () => undefined,
): Promise<Session> {
  const gotHello = await stage.next()
  const hello = expectKind(decodeMessage(gotHello), 'hello')
  const version = Math.min(hello.versions.max, me.versions.max)
  const objection = objectionTo(hello, me)
  if (objection !== undefined) throw refuse(stage, objection)
  onNamed()

  const { lane } = hello
  const challenge: Challenge = {
    kind: 'challenge',
    version,
    terms: me.termsOf(lane),
    nonce: me.randomBytes(NONCE_BYTES),
    from: me.nodeId,
  }
  const sentChallenge = encodeHandshake(challenge)
  stage.send(sentChallenge)

  const { proof } = expectKind(decodeMessage(await stage.next()), 'proof')
  const proved = provedBy(proof, me.secrets(), (secret) =>
    keysOf(stage, secret, [gotHello, sentChallenge]),
  )
  if (proved === undefined) {
    const names = `node ${hello.from} does not prove to node ${me.nodeId}`
    throw refuse(stage, `${names} that it belongs to cluster "${me.cluster}"`)
  }
  const { keys, secret } = proved
  stage.send(encodeHandshake({ kind: 'welcome', proof: keys.acceptorProof }))
  const checks = checksOf(stage, keys)
  return {
    peer: hello.from,
    lane,
    version,
    ours: challenge.terms,
    theirs: hello.terms,
    sealer: new RecordSealer(checks.toDialer),
    opener: new RecordOpener(checks.toAcceptor),
    secret,
  }
}

/** The secret that the dialer knows, and what follows from it. Undefined: the dialer does not know any of our secrets. */
function provedBy(
  proof: Buffer,
  secrets: readonly Uint8Array[],
  derive: (secret: Uint8Array) => SessionKeys,
): { readonly keys: SessionKeys; readonly secret: Uint8Array } | undefined {
  for (const secret of secrets) {
    const keys = derive(secret)
    if (timingSafeEqual(proof, keys.dialerProof)) return { keys, secret }
  }
  return undefined
}

/** Why we do not talk with the sender of this hello. Undefined: we do, if it proves itself. */
function objectionTo(hello: Hello, me: Identity): string | undefined {
  if (hello.cluster !== me.cluster) {
    return (
      `node ${me.nodeId} belongs to cluster "${me.cluster}", ` +
      `node ${hello.from} to cluster "${hello.cluster}"`
    )
  }
  if (hello.to !== me.nodeId) return `this is node ${me.nodeId}, not node ${hello.to}`
  if (hello.from === me.nodeId) return `node ${me.nodeId} does not talk to itself`
  const [mine, theirs] = [me.versions, hello.versions]
  if (Math.min(mine.max, theirs.max) < Math.max(mine.min, theirs.min)) {
    return (
      `node ${me.nodeId} speaks protocol versions ${mine.min} to ${mine.max}, ` +
      `node ${hello.from} ${theirs.min} to ${theirs.max}`
    )
  }
  return undefined
}

/** Who is not known yet learns neither our name nor our cluster's. */
const REFUSAL = 'it does not take us for a node of its cluster; its log says why'

function refuse(stage: HandshakeStage, reason: string): ServiceError {
  stage.send(encodeHandshake({ kind: 'refusal', reason: REFUSAL }))
  return refused(reason)
}

function decodeMessage(framed: Buffer): HandshakeMessage {
  return decodeHandshake(framed.subarray(4))
}

function expectKind<Kind extends HandshakeMessage['kind']>(
  message: HandshakeMessage,
  kind: Kind,
): Extract<HandshakeMessage, { kind: Kind }> {
  if (isKind(message, kind)) return message
  if (message.kind === 'refusal') throw refused(`refused: ${message.reason}`)
  throw new ServiceError('CORRUPTION', `the handshake has a ${message.kind} in place of a ${kind}`)
}

function isKind<Kind extends HandshakeMessage['kind']>(
  message: HandshakeMessage,
  kind: Kind,
): message is Extract<HandshakeMessage, { kind: Kind }> {
  return message.kind === kind
}

function keysOf(
  { exporter }: HandshakeStage,
  secret: Uint8Array,
  transcript: readonly Buffer[],
): SessionKeys {
  return deriveKeys({ secret, exporter, transcript })
}

function checksOf({ exporter }: HandshakeStage, { toAcceptor, toDialer }: SessionKeys) {
  if (exporter !== undefined) return { toAcceptor: plainCheck(), toDialer: plainCheck() }
  return { toAcceptor: keyedCheck(toAcceptor), toDialer: keyedCheck(toDialer) }
}
