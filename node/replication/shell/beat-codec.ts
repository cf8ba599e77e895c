// The bytes of beats and their answers. Described in docs/reference/formats/replication-messages.md.

import { ServiceError } from '../../../lib/errors.ts'
import { timestampOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import { encodeLogId, type LogId } from '../../journal/journal-format.ts'
import type { Rest } from '../core/rest.ts'

const FORMAT = 1
const BEAT = 1
const ANSWER = 2
const ID_BYTES = 8
const OFFER_BYTES = ID_BYTES + 18
const BEAT_BYTES = 38
const ANSWER_BYTES = 42

/** A follower's node forgets all rests when it begins a new session. 0 and 0: no session is known. */
export interface BeatSession {
  readonly incarnation: number
  readonly number: number
}

/** A shard that may rest from this beat on. */
export interface RestOffer {
  readonly logId: LogId
  readonly rest: Rest
}

/** A node that leads says that it is there. */
export interface Beat {
  readonly kind: 'beat'
  readonly incarnation: number
  readonly hybridTime: Timestamp
  /** The sender's monotonic clock, which comes back with the answer. */
  readonly sentMs: number
  readonly session: BeatSession
  /** The sender knows of the ended rests of the session up to this number. */
  readonly endedKnown: number
  readonly offers: readonly RestOffer[]
}

/** A node that follows has heard a beat. */
export interface BeatAnswer {
  readonly kind: 'answer'
  /** The life of the node whose beat is answered. */
  readonly leaderIncarnation: number
  readonly hybridTime: Timestamp
  readonly sentMs: number
  readonly session: BeatSession
  /** Rests that have ended in this session, and those among them that the leader may not know of. */
  readonly endedThrough: number
  readonly ended: readonly LogId[]
  /** The offers of the beat from which the shards rest. */
  readonly accepted: readonly LogId[]
}

export function encodeBeat(beat: Beat): Buffer {
  const bytes = Buffer.allocUnsafe(BEAT_BYTES + beat.offers.length * OFFER_BYTES)
  bytes.writeUInt8(FORMAT, 0)
  bytes.writeUInt8(BEAT, 1)
  bytes.writeUInt32BE(beat.incarnation, 2)
  bytes.writeBigUInt64BE(beat.hybridTime, 6)
  bytes.writeDoubleBE(beat.sentMs, 14)
  bytes.writeUInt32BE(beat.session.incarnation, 22)
  bytes.writeUInt32BE(beat.session.number, 26)
  bytes.writeUInt32BE(beat.endedKnown, 30)
  let at = bytes.writeUInt32BE(beat.offers.length, 34)
  for (const { logId, rest } of beat.offers) {
    const { sequence, epoch, crc } = rest.last
    at += encodeLogId(logId).copy(bytes, at)
    at = bytes.writeUInt32BE(rest.epoch, at)
    at = bytes.writeUIntBE(sequence, at, 6)
    at = bytes.writeUInt32BE(epoch, at)
    at = bytes.writeUInt32BE(crc, at)
  }
  return bytes
}

export function encodeBeatAnswer(answer: BeatAnswer): Buffer {
  const ids = [...answer.ended, ...answer.accepted]
  const bytes = Buffer.allocUnsafe(ANSWER_BYTES)
  bytes.writeUInt8(FORMAT, 0)
  bytes.writeUInt8(ANSWER, 1)
  bytes.writeUInt32BE(answer.leaderIncarnation, 2)
  bytes.writeBigUInt64BE(answer.hybridTime, 6)
  bytes.writeDoubleBE(answer.sentMs, 14)
  bytes.writeUInt32BE(answer.session.incarnation, 22)
  bytes.writeUInt32BE(answer.session.number, 26)
  bytes.writeUInt32BE(answer.endedThrough, 30)
  bytes.writeUInt32BE(answer.ended.length, 34)
  bytes.writeUInt32BE(answer.accepted.length, 38)
  return Buffer.concat([bytes, ...ids.map((id) => encodeLogId(id))])
}

/** Throws INVALID_ARGUMENT for damaged bytes. */
export function decodeBeat(bytes: Buffer): Beat | BeatAnswer {
  if (bytes[0] !== FORMAT) throw damaged('its format is unknown')
  if (bytes[1] === BEAT) return readBeat(bytes)
  if (bytes[1] === ANSWER) return readAnswer(bytes)
  throw damaged('its kind is unknown')
}

function readBeat(bytes: Buffer): Beat {
  assertLength(bytes, BEAT_BYTES, () => bytes.readUInt32BE(34) * OFFER_BYTES)
  const offers: RestOffer[] = []
  for (let at = BEAT_BYTES; at < bytes.length; at += OFFER_BYTES) offers.push(readOffer(bytes, at))
  return {
    kind: 'beat',
    incarnation: bytes.readUInt32BE(2),
    ...readTimes(bytes),
    endedKnown: bytes.readUInt32BE(30),
    offers,
  }
}

function readOffer(bytes: Buffer, at: number): RestOffer {
  const logAt = at + ID_BYTES
  const last = {
    sequence: bytes.readUIntBE(logAt + 4, 6),
    epoch: bytes.readUInt32BE(logAt + 10),
    crc: bytes.readUInt32BE(logAt + 14),
  }
  return { logId: readId(bytes, at), rest: { epoch: bytes.readUInt32BE(logAt), last } }
}

function readAnswer(bytes: Buffer): BeatAnswer {
  const countOf = (at: number): number => bytes.readUInt32BE(at)
  assertLength(bytes, ANSWER_BYTES, () => (countOf(34) + countOf(38)) * ID_BYTES)
  const idAt = (i: number): LogId => readId(bytes, ANSWER_BYTES + i * ID_BYTES)
  const ended = countOf(34)
  return {
    kind: 'answer',
    leaderIncarnation: bytes.readUInt32BE(2),
    ...readTimes(bytes),
    endedThrough: bytes.readUInt32BE(30),
    ended: Array.from({ length: ended }, (_, i) => idAt(i)),
    accepted: Array.from({ length: countOf(38) }, (_, i) => idAt(ended + i)),
  }
}

function readTimes(bytes: Buffer): Pick<Beat, 'hybridTime' | 'sentMs' | 'session'> {
  return {
    hybridTime: timestampOf(bytes.readBigUInt64BE(6)),
    sentMs: bytes.readDoubleBE(14),
    session: { incarnation: bytes.readUInt32BE(22), number: bytes.readUInt32BE(26) },
  }
}

function readId(bytes: Buffer, at: number): LogId {
  return bytes.toString('hex', at, at + ID_BYTES)
}

function assertLength(bytes: Buffer, headBytes: number, restBytes: () => number): void {
  if (bytes.length < headBytes) throw damaged('it is too short')
  const wanted = headBytes + restBytes()
  if (bytes.length !== wanted) throw damaged(`it has ${bytes.length} bytes instead of ${wanted}`)
}

function damaged(what: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `a beat is damaged: ${what}`)
}
