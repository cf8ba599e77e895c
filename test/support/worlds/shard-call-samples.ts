// One message of each kind, for golden bytes and as a start for hostile ones.

import { timestampOf } from '../../../node/clock/hybrid-clock.ts'
import { parseFieldPath } from '../../../node/document/field-path.ts'
import { encodeArtifact } from '../../../node/embedding/artifact.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import type { PrepareCommand, WriteCommand } from '../../../node/shard/command/command.ts'
import { buildTransactionId } from '../../../node/shard/command/transaction-id.ts'
import { encodeRecord } from '../../../node/shard/format/document-record.ts'
import {
  SHARD_CALLS,
  writeResolve,
  writeRange,
  writeScan,
  type CallCodec,
  type OPERATIONS,
} from '../../../node/shard/remote/shard-calls.ts'
import {
  beginAnswer,
  beginPart,
  encodeRefusal,
  ShardRefusal,
  writeCallHead,
} from '../../../node/shard/remote/wire/call-head.ts'
import {
  writeArtifactsAsked,
  writeFoundArtifacts,
} from '../../../node/shard/remote/wire/artifacts-codec.ts'
import { writeAsked } from '../../../node/shard/remote/wire/index-codec.ts'
import {
  CLOSED_TIME,
  writeReadAt,
  writeSearchFrom,
  writeSearchHere,
} from '../../../node/shard/remote/replica-calls.ts'
import { encodeRows } from '../../../node/shard/remote/wire/rows-codec.ts'
import { WireWriter } from '../../../node/shard/remote/wire/wire-writer.ts'
import { INDEX_STATUS, POSITION } from '../fakes/watched-shard.ts'
import { SHARD_ID } from './remote-world.ts'

const key = Buffer.from('k')
const time = timestampOf(0x1122_3344_5566_0007n)
const id = buildTransactionId(time, '0123456789abcdef')
const anchor = { tableId: 'tä', key }

export const ARTIFACT = encodeArtifact({
  kind: 'dense',
  ordinal: 0,
  sourceHash: undefined,
  dimension: 1,
  rows: [{ start: 0, end: 0, vector: Float32Array.of(0.5) }],
})

export const WRITE: WriteCommand = {
  checks: [{ key, version: time }],
  ops: [
    { kind: 'put', key, json: Buffer.from('{"a":"ä"}'), expiry: { kind: 'none' } },
    { kind: 'put', key, json: Buffer.from('{}'), expiry: { kind: 'at', ms: 1_700_000_000_000.5 } },
    { kind: 'put', key, json: Buffer.from('{}'), expiry: { kind: 'after-write', durationMs: 60 } },
    { kind: 'delete', key: Buffer.from('deleted') },
    {
      kind: 'put',
      key,
      json: Buffer.from('{}'),
      expiry: { kind: 'none' },
      artifacts: [
        { index: '0123456789abcdef', artifact: ARTIFACT },
        { index: 'fedcba9876543210', artifact: undefined },
      ],
    },
    {
      kind: 'artifacts',
      key: Buffer.from('kept'),
      artifacts: [{ index: '0123456789abcdef', artifact: ARTIFACT }],
    },
    {
      kind: 'transform',
      key,
      transform: {
        key,
        upsert: true,
        operations: [
          { operator: '$set', path: ['a', 'b "c"'], value: Buffer.from('[1,null]') },
          { operator: '$unset', path: ['$'], value: Buffer.from('null') },
          { operator: '$rename', path: ['x'], value: Buffer.from('"y.z"') },
        ],
      },
    },
  ],
  ttl: { field: parseFieldPath('at.time', 'ttl'), durationMs: 86_400_000, generation: 3 },
}

export const PREPARE: PrepareCommand = {
  transactionId: id,
  anchor,
  begin: { participants: [{ tableId: 't', first: key, last: Buffer.from('z') }] },
  ...WRITE,
}

export const REQUEST = {
  conditions: {
    query: { kind: 'term', field: 'title', term: 'fox', boost: 1.5 },
    filter: undefined,
    exclusion: undefined,
    keyPrefix: Uint8Array.of(1, 2),
  },
}

const head = { shard: SHARD_ID, epoch: 5, time }

/** An upload begins otherwise: with the length of what follows in parts. */
export type UploadName = 'writeLong' | 'prepareLong'
export type OpeningName = Exclude<keyof typeof OPERATIONS, UploadName>

/** The argument of each call behind its head. */
const ARGUMENTS: Readonly<Record<OpeningName, (out: WireWriter) => void>> = {
  read: argumentOf(SHARD_CALLS.read, key),
  readLong: (out) => void out.key(key),
  scan: (out) => writeScan(out, { at: time, range: { start: key, end: Buffer.from('z') } }),
  moment: argumentOf(SHARD_CALLS.moment, { start: key, end: undefined }),
  scanNow: (out) => writeRange(out, { start: key, end: Buffer.from('z') }),
  write: argumentOf(SHARD_CALLS.write, WRITE),
  prepare: argumentOf(SHARD_CALLS.prepare, PREPARE),
  decide: argumentOf(SHARD_CALLS.decide, {
    transactionId: id,
    anchor: key,
    decision: 'commit',
    commitAtLeast: time,
  }),
  resolve: (out) => {
    const command = { transactionId: id, decision: { state: 'committed', commitTs: time } } as const
    writeResolve(out, { command, isAwaited: false })
  },
  forget: argumentOf(SHARD_CALLS.forget, { transactionId: id, anchor: key }),
  push: argumentOf(SHARD_CALLS.push, {
    transactionId: id,
    anchor: key,
    above: time,
    expired: true,
  }),
  heartbeat: argumentOf(SHARD_CALLS.heartbeat, id),
  hurry: () => undefined,
  waitForRelease: argumentOf(SHARD_CALLS.waitForRelease, { transactionId: id, timeoutMs: 250 }),
  search: (out) => {
    const asked = { kind: 'text', question: 'statistics', request: REQUEST }
    runAtOnce(writeAsked(out, { index: 'text', asked }))
  },
  indexPosition: argumentOf(SHARD_CALLS.indexPosition, { index: 'text', atLeast: 9 }),
  indexStatus: argumentOf(SHARD_CALLS.indexStatus, { index: 'text', parkedMax: 3 }),
  waitForIndexes: argumentOf(SHARD_CALLS.waitForIndexes, undefined),
  stats: argumentOf(SHARD_CALLS.stats, undefined),
  state: argumentOf(SHARD_CALLS.state, undefined),
  closedTime: () => undefined,
  readAt: (out) => writeReadAt(out, { key, at: time }),
  scanAt: (out) => writeScan(out, { at: time, range: { start: key, end: undefined } }),
  searchHere: (out) => {
    const asked = { kind: 'text', question: 'statistics', request: REQUEST }
    runAtOnce(writeSearchHere(out, { index: 'text', asked, atLeast: 9 }))
  },
  artifacts: (out) => writeArtifactsAsked(out, { keys: [key], indexes: ['0123456789abcdef'] }),
  pinHistory: argumentOf(SHARD_CALLS.pinHistory, { reader: 'node-1', at: time }),
  searchFrom: (out) => {
    const asked = { kind: 'text', question: 'statistics', request: REQUEST }
    runAtOnce(writeSearchFrom(out, { index: 'text', asked, from: POSITION }))
  },
}

function argumentOf<Argument>(
  { write }: Pick<CallCodec<Argument, unknown>, 'write'>,
  argument: Argument,
): (out: WireWriter) => void {
  return (out) => {
    const writing = write(out, argument)
    if (writing !== undefined) runAtOnce(writing)
  }
}

/** The message that opens each call. Its head names SHARD_ID, epoch 5 and a time of its own. */
export function openingMessages(): Record<OpeningName, Buffer> {
  const entries = Object.entries(ARGUMENTS).map(([name, write]) => {
    const out = writeCallHead(new WireWriter(), head)
    write(out)
    return [name, out.joined()]
  })
  return Object.fromEntries(entries)
}

const answerHead = { time, epoch: 6 }
const record = encodeRecord(
  { version: time, deleted: false, ttlGeneration: 3, expiresAtMs: 0 },
  Buffer.from('{"a":1}'),
)
const held = { transactionId: id, anchor }

/** Messages of answers, by what they say. */
export function answerMessages(): Record<string, Buffer> {
  const leader = { node: 'node-b', epoch: 7 }
  const notLeader = new ShardRefusal('NOT_LEADER', 'not hére', { happened: 'nothing', leader })
  const unknown = new ShardRefusal('UNAVAILABLE', 'lost', { happened: 'unknown' })
  const [part = Buffer.alloc(0)] = encodeRows([
    { key, record },
    { key: Buffer.from('l'), record },
  ])
  return {
    'an absent document': answerOf(SHARD_CALLS.read, { kind: 'absent' }),
    'a document': answerOf(SHARD_CALLS.read, { kind: 'record', record }),
    'a long document': answerOf(SHARD_CALLS.read, { kind: 'long' }),
    written: answerOf(SHARD_CALLS.write, { kind: 'written', version: time }),
    'a changed version': answerOf(SHARD_CALLS.write, { kind: 'version-changed', key, found: time }),
    'a held key': answerOf(SHARD_CALLS.write, { kind: 'key-held', key, holder: held }),
    prepared: answerOf(SHARD_CALLS.prepare, { kind: 'prepared', commitAtLeast: time }),
    finished: answerOf(SHARD_CALLS.prepare, { kind: 'finished' }),
    'a commit': answerOf(SHARD_CALLS.decide, { state: 'committed', commitTs: time }),
    'an abort': answerOf(SHARD_CALLS.decide, { state: 'aborted' }),
    pending: answerOf(SHARD_CALLS.push, { state: 'pending' }),
    forgotten: answerOf(SHARD_CALLS.forget, undefined),
    'the position of an index': answerOf(SHARD_CALLS.indexPosition, POSITION),
    'the state of an index': answerOf(SHARD_CALLS.indexStatus, INDEX_STATUS),
    stats: answerOf(SHARD_CALLS.stats, {
      diskBytes: 2 ** 40,
      empty: false,
      indexVersions: [{ index: 'words', version: 3 }],
    }),
    serving: answerOf(SHARD_CALLS.state, { kind: 'serving', documentsBehind: 3 }),
    'read only': answerOf(SHARD_CALLS.state, {
      kind: 'read_only',
      reason: 'disk full',
      documentsBehind: 0,
    }),
    'a closed time': answerOf(CLOSED_TIME, time),
    'a moment': answerOf(SHARD_CALLS.moment, time),
    'rows of a scan': part,
    'found artifacts': foundArtifacts(),
    'a refusal that names the leader': encodeRefusal(time, notLeader),
    'a refusal with an unknown outcome': encodeRefusal(time, unknown),
  }
}

function foundArtifacts(): Buffer {
  const out = beginPart(new WireWriter())
  writeFoundArtifacts(out, [[ARTIFACT, undefined]])
  return out.joined()
}

function answerOf<Answer>(
  { writeAnswer }: Pick<CallCodec<never, Answer>, 'writeAnswer'>,
  answer: Answer,
): Buffer {
  const out = beginAnswer(new WireWriter(), answerHead)
  writeAnswer(out, answer)
  return out.joined()
}
