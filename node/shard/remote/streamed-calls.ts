// How a shard is asked for each call with a streamed answer.

import { runSliced, type SliceOptions } from '../../../lib/sliced.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { portableAnswer } from '../../index/kinds/index-request.ts'
import type { PeerRequest } from '../../peer/peer.ts'
import type { Shard } from '../shard.ts'
import { assertPlausible, readArgument, type CameCall } from './answered-calls.ts'
import { messagesOf } from './long-messages.ts'
import { SEARCH_ANSWER_BYTES_MAX } from './wire/call-limits.ts'
import { OPERATIONS, readRange, readResolve, readScan } from './shard-calls.ts'
import { readArtifactsAsked, writeFoundArtifacts } from './wire/artifacts-codec.ts'
import { beginPart } from './wire/call-head.ts'
import { readDocumentKey } from './wire/command-codec.ts'
import { readAsked } from './wire/index-codec.ts'
import { encodeRows } from './wire/rows-codec.ts'
import { writeValue } from './wire/value-codec.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** A call that came to a shard of this node, and is answered by a stream. */
export interface CameStream<Target = Shard> extends CameCall<Target> {
  readonly request: PeerRequest
  /** The head of the answer, for what comes with it. */
  begin(this: void): WireWriter
}

/** A call whose answer is a stream: first its head, then parts. */
export interface StreamedCall<Target = Shard> {
  readonly operation: number
  answer(call: CameStream<Target>): AsyncGenerator<Uint8Array, void>
}

export const STREAMED_CALLS: readonly StreamedCall[] = [
  { operation: OPERATIONS.scan, answer: scan },
  { operation: OPERATIONS.scanNow, answer: scanNow },
  { operation: OPERATIONS.resolve, answer: resolve },
  { operation: OPERATIONS.search, answer: search },
  { operation: OPERATIONS.readLong, answer: readLong },
  { operation: OPERATIONS.artifacts, answer: artifacts },
]

async function* scan({
  shard,
  from,
  request,
  clock,
  begin,
}: CameStream): AsyncGenerator<Uint8Array, void> {
  const { range, at } = await readArgument(from, clock, readScan)
  const pages = await shard.scan({ range, at, signal: request.signal })
  yield begin().joined()
  for await (const page of pages) yield* encodeRows(page)
}

/** The head has the timestamp that the shard took. The next leader shows the same at it. */
async function* scanNow({
  shard,
  from,
  request: { signal },
  clock,
  begin,
}: CameStream): AsyncGenerator<Uint8Array, void> {
  const range = await readArgument(from, clock, readRange)
  const at = await shard.moment(range, { signal })
  const pages = await shard.scan({ range, at, signal })
  yield begin().timestamp(at).joined()
  for await (const page of pages) yield* encodeRows(page)
}

/** The head says that the keys are free, the end that this is durable. */
async function* resolve({
  shard,
  from,
  clock,
  now,
  begin,
}: CameStream): AsyncGenerator<Uint8Array, void> {
  const { command, isAwaited } = await readArgument(from, clock, readResolve)
  const { decision } = command
  if (decision.state === 'committed') assertPlausible(decision.commitTs, now())
  const released = Promise.withResolvers<void>()
  const done = shard.resolve(command, { isAwaited, onReleased: released.resolve })
  done.catch(() => undefined) // the caller may have left by then
  await Promise.race([released.promise, done])
  yield begin().joined()
  await done
}

async function* search({
  shard,
  from,
  request,
  clock,
  begin,
}: CameStream): AsyncGenerator<Uint8Array, void> {
  const { index, asked } = await readArgument(from, clock, readAsked)
  const { signal } = request
  const deadlineMs = clock.monotonicMs() + (request.remainingMs() ?? Infinity)
  const behind = new NotedBehind()
  const answer = await shard.search(index, asked, { signal, deadlineMs, onBehind: behind.note })
  yield begin().number(behind.documents).joined()
  yield* indexAnswerMessages(asked.kind, answer, { clock, signal })
}

/** Remembers for the head of an answer what it may lack. */
export class NotedBehind {
  documents = 0
  readonly note = (documents: number): void => {
    this.documents = documents
  }
}

/** The answer of an index of the kind in messages, made in slices. */
export async function* indexAnswerMessages(
  kind: string,
  answer: unknown,
  { clock, signal }: SliceOptions,
): AsyncGenerator<Uint8Array, void> {
  const portable = await runSliced(portableAnswer(kind, answer), { clock, signal })
  const written = new WireWriter()
  await runSliced(writeValue(written, portable), { clock, signal })
  if (written.length > SEARCH_ANSWER_BYTES_MAX) throw tooLong(written.length)
  yield* partMessagesOf(written.parts())
}

async function* readLong({
  shard,
  from,
  request,
  clock,
  begin,
}: CameStream): AsyncGenerator<Uint8Array, void> {
  const key = await readArgument(from, clock, readDocumentKey)
  const record = await shard.read(key, { signal: request.signal })
  yield begin()
    .boolean(record !== undefined)
    .joined()
  if (record !== undefined) yield* partMessagesOf([record])
}

async function* artifacts({
  shard,
  from,
  request: { signal },
  clock,
  begin,
}: CameStream): AsyncGenerator<Uint8Array, void> {
  const asked = await readArgument(from, clock, readArtifactsAsked)
  const found = await shard.artifacts(asked, { signal })
  yield begin().joined()
  const written = new WireWriter()
  writeFoundArtifacts(written, found)
  yield* partMessagesOf(written.parts())
}

/** The bytes in messages of bounded length. */
export function* partMessagesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const message of messagesOf(parts)) {
    yield beginPart(new WireWriter(message.length + 1))
      .raw(message)
      .joined()
  }
}

function tooLong(bytes: number): ServiceError {
  const message = `the answer has ${bytes} bytes; the maximum is ${SEARCH_ANSWER_BYTES_MAX}: ask for less`
  return new ServiceError('PAYLOAD_TOO_LARGE', message)
}
