// What every message of a shard's call begins with. Format: docs/reference/formats/shard-calls.md.

import { isErrorCode } from '../../../peer/wire/error-codes.ts'
import type { Happened, NodeId } from '../../../peer/peer.ts'
import { ServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import type { Timestamp } from '../../../clock/hybrid-clock.ts'
import { parseShardId, type ShardId } from '../../shard-id.ts'
import type { WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

const SHARD_ID_BYTES = 8
const ANSWER = 0
const REFUSAL = 1
const PART = 2
const HAPPENED: readonly Happened[] = ['unknown', 'nothing']
/** The rest of a longer message would tell people nothing more. */
const MESSAGE_LENGTH_MAX = 4096

/** What a caller says first. */
export interface CallHead {
  readonly shard: ShardId
  /** The epoch of the leadership that the caller asks; 0: any. */
  readonly epoch: number
  readonly time: Timestamp
}

/** What an answerer says first: its hybrid time, and the epoch in which it leads. */
export interface AnswerHead {
  readonly time: Timestamp
  readonly epoch: number
}

/** The leader that a node knows of. */
export interface KnownLeader {
  readonly node: NodeId | undefined
  readonly epoch: number
}

/**
 * The shard of another node refused a call. `leader` says what that node knows of the leadership, and is
 * set for NOT_LEADER alone.
 */
export class ShardRefusal extends ServiceError {
  readonly happened: Happened
  readonly leader: KnownLeader | undefined

  constructor(
    code: ErrorCode,
    message: string,
    facts: { readonly happened: Happened; readonly leader?: KnownLeader | undefined },
  ) {
    super(code, message)
    this.happened = facts.happened
    this.leader = facts.leader
  }
}

/** One message of an answer: the answer itself, or a part of it before that or behind. */
export type AnswerMessage =
  | { readonly kind: 'answer'; readonly head: AnswerHead }
  | { readonly kind: 'refusal'; readonly time: Timestamp; readonly refusal: ShardRefusal }
  | { readonly kind: 'part' }

export function writeCallHead(out: WireWriter, { shard, epoch, time }: CallHead): WireWriter {
  return out.raw(Buffer.from(shard, 'hex')).u48(epoch).timestamp(time)
}

export function readCallHead(from: WireReader): CallHead {
  const shard = parseShardId(from.raw(SHARD_ID_BYTES).toString('hex'))
  return { shard, epoch: from.u48(), time: from.timestamp() }
}

export function beginAnswer(out: WireWriter, { time, epoch }: AnswerHead): WireWriter {
  return out.u8(ANSWER).timestamp(time).u48(epoch)
}

/** A message of a streamed answer that is neither its head nor a refusal. */
export function beginPart(out: WireWriter): WireWriter {
  return out.u8(PART)
}

export function encodeRefusal(time: Timestamp, refusal: ShardRefusal): Buffer {
  const { code, message, happened, leader } = refusal
  const out = new WireWriter()
  out.u8(REFUSAL).timestamp(time).text(code)
  out.text(message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()).u8(HAPPENED.indexOf(happened))
  out.boolean(leader !== undefined)
  if (leader === undefined) return out.joined()
  return out
    .u48(leader.epoch)
    .text(leader.node ?? '')
    .joined()
}

/** Reads what a message of an answer begins with; the rest of an answer or a part stays in `from`. */
export function readAnswerMessage(from: WireReader): AnswerMessage {
  const kind = from.oneOf([ANSWER, REFUSAL, PART])
  if (kind === PART) return { kind: 'part' }
  const time = from.timestamp()
  if (kind === ANSWER) return { kind: 'answer', head: { time, epoch: from.u48() } }
  return { kind: 'refusal', time, refusal: readRefusal(from) }
}

/** A code of a later version, which we do not know, is INTERNAL. */
function readRefusal(from: WireReader): ShardRefusal {
  const code = from.text()
  const message = from.text()
  const happened = from.oneOf([0, 1]) === 1 ? 'nothing' : 'unknown'
  const leader = from.boolean() ? readLeader(from) : undefined
  from.end()
  const facts = { happened, leader } as const
  return isErrorCode(code)
    ? new ShardRefusal(code, message, facts)
    : new ShardRefusal('INTERNAL', `${code}: ${message}`, facts)
}

function readLeader(from: WireReader): KnownLeader {
  const epoch = from.u48()
  const node = from.text()
  return { node: node === '' ? undefined : node, epoch }
}
