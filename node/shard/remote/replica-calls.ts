// The calls that any replica of a shard answers (docs/reference/formats/shard-calls.md): how they are written, and how this
// node answers them.

import type { Sliced } from '../../../lib/sliced.ts'
import { DOCUMENT_BYTES_MAX } from '../../document/document-limits.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { IndexPosition } from '../following/index-position.ts'
import type { ShardReplica } from '../shard-replica.ts'
import { answered, readArgument, type AnsweredCall } from './answered-calls.ts'
import { OPERATIONS, readPosition, readScan, writePosition, type CallCodec } from './shard-calls.ts'
import {
  indexAnswerMessages,
  NotedBehind,
  partMessagesOf,
  type CameStream,
  type StreamedCall,
} from './streamed-calls.ts'
import { readDocumentKey } from './wire/command-codec.ts'
import { readAsked, writeAsked, type AskedIndex } from './wire/index-codec.ts'
import { encodeRows } from './wire/rows-codec.ts'
import type { WireReader } from './wire/wire-reader.ts'
import type { WireWriter } from './wire/wire-writer.ts'

/** A record has a header of some bytes beside its document. */
export const RECORD_BYTES_MAX = DOCUMENT_BYTES_MAX + 1024

export const CLOSED_TIME: CallCodec<undefined, Timestamp> = {
  operation: OPERATIONS.closedTime,
  isRepeatable: true,
  isTimed: false,
  write: () => undefined,
  read: () => undefined,
  writeAnswer: (out, time) => void out.timestamp(time),
  readAnswer: (from) => from.timestamp(),
}

/** A key, and the time at which it is read; undefined: the replica's closed time. */
export interface ReadAtArgument {
  readonly key: Buffer
  readonly at: Timestamp | undefined
}

export function writeReadAt(out: WireWriter, { key, at }: ReadAtArgument): void {
  out.key(key).boolean(at !== undefined)
  if (at !== undefined) out.timestamp(at)
}

function readReadAt(from: WireReader): ReadAtArgument {
  const key = readDocumentKey(from)
  return { key, at: from.boolean() ? from.timestamp() : undefined }
}

export const ANSWERED_REPLICA_CALLS: readonly AnsweredCall<ShardReplica>[] = [
  answered(CLOSED_TIME, (shard: ShardReplica, _, { request }) =>
    shard.closedTime({ signal: request.signal }),
  ),
]

export const STREAMED_REPLICA_CALLS: readonly StreamedCall<ShardReplica>[] = [
  { operation: OPERATIONS.readAt, answer: readAt },
  { operation: OPERATIONS.scanAt, answer: scanAt },
  { operation: OPERATIONS.searchHere, answer: searchHere },
  { operation: OPERATIONS.searchFrom, answer: searchFrom },
]

type Came = CameStream<ShardReplica>

async function* readAt({ shard, from, request, clock, begin }: Came): AsyncGenerator<Uint8Array> {
  const { key, at } = await readArgument(from, clock, readReadAt)
  const found = await shard.readAt(key, { at, signal: request.signal })
  yield begin()
    .timestamp(found.at)
    .boolean(found.record !== undefined)
    .joined()
  if (found.record !== undefined) yield* partMessagesOf([found.record])
}

async function* scanAt({ shard, from, request, clock, begin }: Came): AsyncGenerator<Uint8Array> {
  const { range, at } = await readArgument(from, clock, readScan)
  const pages = await shard.scanAt({ range, at, signal: request.signal })
  yield begin().joined()
  for await (const page of pages) yield* encodeRows(page)
}

export function* writeSearchHere(
  out: WireWriter,
  { atLeast, ...asked }: Parameters<typeof writeAsked>[1] & { readonly atLeast: number },
): Sliced<void> {
  out.number(atLeast)
  yield* writeAsked(out, asked)
}

function* readSearchHere(from: WireReader): Sliced<AskedIndex & { readonly atLeast: number }> {
  const atLeast = from.amount()
  return { atLeast, ...(yield* readAsked(from)) }
}

export function* writeSearchFrom(
  out: WireWriter,
  { from, ...asked }: Parameters<typeof writeAsked>[1] & { readonly from: IndexPosition },
): Sliced<void> {
  writePosition(out, from)
  yield* writeAsked(out, asked)
}

function* readSearchFrom(
  message: WireReader,
): Sliced<AskedIndex & { readonly from: IndexPosition }> {
  const from = readPosition(message)
  return { from, ...(yield* readAsked(message)) }
}

async function* searchHere(came: Came): AsyncGenerator<Uint8Array> {
  const { shard, from, request, clock, begin } = came
  const { index, asked, atLeast } = await readArgument(from, clock, readSearchHere)
  const { signal } = request
  const deadlineMs = clock.monotonicMs() + (request.remainingMs() ?? Infinity)
  const behind = new NotedBehind()
  const limits = { signal, deadlineMs, atLeast, onBehind: behind.note }
  const answer = await shard.searchHere(index, asked, limits)
  yield begin().number(behind.documents).joined()
  yield* indexAnswerMessages(asked.kind, answer, { clock, signal })
}

async function* searchFrom(came: Came): AsyncGenerator<Uint8Array> {
  const { shard, request, clock, begin } = came
  const { index, asked, from } = await readArgument(came.from, clock, readSearchFrom)
  const { signal } = request
  const deadlineMs = clock.monotonicMs() + (request.remainingMs() ?? Infinity)
  const placed = await shard.searchFrom(index, asked, { signal, deadlineMs, from })
  yield begin().number(placed.shownThrough).joined()
  yield* indexAnswerMessages(asked.kind, placed.answer, { clock, signal })
}
