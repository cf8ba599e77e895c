import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { timestampOf } from '../../../../../node/clock/hybrid-clock.ts'
import type { ShardRecord } from '../../../../../node/catalog/records/shard-record.ts'
import {
  decodeShard,
  decodeStored,
  encodeShard,
  encodeTable,
  type TableRecord,
} from '../../../../../node/catalog/records/table-record.ts'
import {
  decodeApplied,
  encodeApplied,
  encodeAppliedWithPart,
  hasPart,
} from '../../../../../node/shard/format/applied-position.ts'
import {
  decodeCollected,
  encodeCollected,
} from '../../../../../node/shard/format/collected-mark.ts'
import {
  decodeFieldPage,
  encodeFieldPage,
} from '../../../../../node/catalog/records/table-fields-codec.ts'
import { readEmbeddingsSettings } from '../../../../../node/embedding/settings.ts'
import { NO_INDEX_ID } from '../../../../../node/index/host/index-definition.ts'
import type { TableField } from '../../../../../node/schema/table-field.ts'
import {
  checkRecord,
  encodeRecord,
  encodeTombstone,
  expiresAtMsOf,
  isDeleted,
  jsonOf,
  ordinalOf,
  ttlGenerationOf,
  versionOf,
} from '../../../../../node/shard/format/document-record.ts'
import {
  decodeIntent,
  encodeIntent,
  type IntentOp,
} from '../../../../../node/shard/format/intent-codec.ts'
import {
  artifactKey,
  parkedKey,
  progressKey,
  COLLECTED_KEY,
  documentKey,
  expiryKey,
  finishedKey,
  historyKey,
  intentKey,
  logKey,
  transactionKey,
} from '../../../../../node/shard/format/keyspace.ts'
import {
  decodeLogEntry,
  encodeLogEntry,
  encodeLogEntryInSteps,
  type LogEntry,
} from '../../../../../node/shard/format/log-entry.ts'
import {
  decodeProgress,
  encodeProgress,
} from '../../../../../node/shard/format/enrichment-progress.ts'
import { decodeParkedMark, encodeParkedMark } from '../../../../../node/shard/format/parked-mark.ts'
import { parseShardId } from '../../../../../node/shard/shard-id.ts'
import { buildTransactionId } from '../../../../../node/shard/command/transaction-id.ts'
import {
  decodeFinishedMark,
  decodeTransactionRecord,
  encodeFinishedMark,
  encodeTransactionRecord,
} from '../../../../../node/shard/format/transaction-record.ts'
import { countTo } from '../../../../support/loads/load.ts'
import { intervalOfKey } from '../../../../support/worlds/routes.ts'

const GOLDEN = new URL('../../../../golden/', import.meta.url)
const golden: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('shard-formats.json', GOLDEN), 'utf8'),
)

const version = timestampOf(0x018bcfe5_6800_0007n)
const transactionId = buildTransactionId(version, 'fedcba9876543210')
const anchor = { tableId: '00112233445566ff', key: Buffer.from('anchor') }
const json = Buffer.from('{"n":1}')
const key = Buffer.from('a\0b')
const expiresAtMs = 1_900_000_000_123

const artifacts = [
  { index: '0123456789abcdef', artifact: Buffer.from('artifact') },
  { index: 'fedcba9876543210', artifact: undefined },
]

const intentOf = (op: IntentOp) => ({ transactionId, anchor, commitAtLeast: version, op })
const PUT = { kind: 'put', json, ttlGeneration: 3 } as const
const intents: Readonly<Record<string, IntentOp>> = {
  'intent: put': { ...PUT, expiry: { kind: 'none' } },
  'intent: put, expires at': { ...PUT, expiry: { kind: 'at', ms: expiresAtMs } },
  'intent: put, expires after': { ...PUT, expiry: { kind: 'after-write', durationMs: 60_000 } },
  'intent: put, with artifacts': { ...PUT, expiry: { kind: 'none' }, artifacts },
  'intent: artifacts': { kind: 'artifacts', artifacts },
  'intent: delete': { kind: 'delete' },
  'intent: lock': { kind: 'lock' },
}

const CODES = ['write', 'prepare', 'decide', 'resolve', 'forget', 'abandon'] as const
const HOUSEKEEPING = ['expire', 'retime', 'number', 'collect', 'enrich'] as const
const entries: Readonly<Record<string, LogEntry>> = {
  'log entry: touches': {
    kind: 'resolve',
    stamp: timestampOf(version + 9n),
    version,
    touches: [
      { key, changed: 'document', deleted: false, previous: undefined },
      { key, changed: 'both', deleted: true, previous: timestampOf(5n) },
      { key, changed: 'both', deleted: false, previous: timestampOf(5n) },
      { key, changed: 'artifacts', deleted: false, previous: undefined },
    ],
  },
  ...Object.fromEntries(
    [...CODES, ...HOUSEKEEPING].map((kind): [string, LogEntry] => [
      `log entry: ${kind}`,
      { kind, stamp: version, version, touches: [] },
    ]),
  ),
}

const decisions = {
  committed: { state: 'committed', commitTs: version },
  aborted: { state: 'aborted' },
} as const

const participants = [{ tableId: anchor.tableId, first: key, last: Buffer.from('z') }]
const statuses = { ...decisions, pending: { state: 'pending' } } as const

const table: TableRecord = {
  name: 'books',
  tableId: '00112233445566ff',
  state: 'ready',
  description: 'what we read',
  schema: undefined,
  ttlGeneration: 1,
  indexes: [
    { id: '0123456789abcdef', kind: 'text', name: 'notes', memOnly: true },
    {
      id: 'fedcba9876543210',
      kind: 'vectors',
      name: 'vec',
      memOnly: false,
      settings: readEmbeddingsSettings({
        external: true,
        sparse: false,
        dimension: 3,
        metric: 'cosine',
        engine: 'usearch',
        quantization: 'f16',
      }),
    },
  ],
  hasBuiltInIndex: true,
  replication: undefined,
}

const formerIndexes = [{ id: NO_INDEX_ID, kind: 'text', name: 'notes', memOnly: true }]

const firstShard: ShardRecord = {
  id: parseShardId('0000000000000001'),
  range: { start: Buffer.alloc(0), end: Buffer.from('m') },
}
const lastShard: ShardRecord = {
  id: parseShardId('0000000000000002'),
  range: { start: Buffer.from('m'), end: undefined },
}

const tableFields: readonly TableField[] = [
  { path: ['price'], kind: 'number', documentType: undefined },
  { path: ['a.b', 'é'], kind: 'date', documentType: 'note' },
]

const applied = { sequence: 0x1234_5678_9abc, epoch: 7, crc: 0xfedc_ba98, nextOrdinal: 258 }

const progress = {
  sequence: 0x1234_5678_9abc,
  spans: [
    { after: key, last: undefined },
    { after: undefined, last: Buffer.from('k') },
  ],
}

const encoded: Readonly<Record<string, Buffer>> = {
  'key: document': documentKey(key),
  'key: log': logKey(258),
  'key: history': historyKey(key, version),
  'key: intent': intentKey(key, transactionId),
  'key: transaction': transactionKey(key, transactionId),
  'key: expiry': expiryKey(expiresAtMs, key),
  'key: artifact': artifactKey('0123456789abcdef', key),
  'key: parked': parkedKey('0123456789abcdef', key),
  'key: enrichment progress': progressKey('0123456789abcdef'),
  'key: finished': finishedKey(transactionId),
  'key: collected mark': COLLECTED_KEY,
  'record: document': encodeRecord(
    { version, deleted: false, ttlGeneration: 3, expiresAtMs },
    json,
  ),
  'record: with an ordinal': encodeRecord(
    { version, deleted: false, ttlGeneration: 3, expiresAtMs, ordinal: 0x01020304 },
    json,
  ),
  'record: tombstone': encodeTombstone(version),
  ...mapValues(intents, (op) => encodeIntent(intentOf(op))),
  ...mapValues(entries, encodeLogEntry),
  'transaction record: committed': transactionRecord('committed'),
  'transaction record: aborted': transactionRecord('aborted'),
  'transaction record: pending': transactionRecord('pending'),
  'finished mark: committed': encodeFinishedMark(decisions.committed),
  'finished mark: aborted': encodeFinishedMark(decisions.aborted),
  'collected mark': encodeCollected(version),
  'applied position': encodeApplied(applied),
  'applied position, and a part': encodeAppliedWithPart(applied),
  'enrichment progress': encodeProgress(progress),
  'parked mark: refused': encodeParkedMark('refused'),
  'parked mark: unreachable': encodeParkedMark('unreachable'),
  'table record': encodeTable(table),
  'shard record: first': encodeShard(firstShard),
  'shard record: last': encodeShard(lastShard),
  'fields of a table': encodeFieldPage(tableFields),
}

const manyTouches: LogEntry = {
  kind: 'write',
  stamp: version,
  version,
  touches: countTo(20_000).map((n) => ({
    key: Buffer.from(`key ${n}`),
    changed: 'document',
    deleted: n % 2 === 0,
    previous: n % 3 === 0 ? version : undefined,
  })),
}

describe('a log entry of many touches', () => {
  it('has the same bytes in steps as at once', () => {
    const steps = [...encodeLogEntryInSteps(manyTouches)].length
    const written = runAtOnce(encodeLogEntryInSteps(manyTouches))

    expect(written.equals(encodeLogEntry(manyTouches))).to.equal(true)
    expect(steps).to.be.at.least(4)
  })
})

function transactionRecord(state: keyof typeof statuses): Buffer {
  return encodeTransactionRecord({ status: statuses[state], participants })
}

function mapValues<T>(
  values: Readonly<Record<string, T>>,
  change: (value: T) => Buffer,
): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
}

/** The bytes that an earlier version wrote. */
function stored(name: string): Buffer {
  const hex = golden[name]
  if (hex === undefined) throw new RangeError(`no golden bytes for "${name}"`)
  return Buffer.from(hex, 'hex')
}

describe('the disk formats of a shard', () => {
  it('have golden bytes for each kind of key and value, and for no other', () => {
    const written = Object.keys(golden).filter((name) => !/^(format 1|without ids): /.test(name))

    expect(written).to.have.members(Object.keys(encoded))
  })

  for (const [name, bytes] of Object.entries(encoded)) {
    it(`write ${name} with its golden bytes`, () => {
      expect(bytes.toString('hex')).to.equal(golden[name])
    })
  }

  it('read a document record of an earlier version', () => {
    const record = stored('record: document')

    expect(versionOf(record)).to.equal(version)
    expect(isDeleted(record)).to.equal(false)
    expect(ttlGenerationOf(record)).to.equal(3)
    expect(expiresAtMsOf(record)).to.equal(expiresAtMs)
    expect(jsonOf(record).toString()).to.equal('{"n":1}')
    expect(isDeleted(stored('record: tombstone'))).to.equal(true)
  })

  it('read a document record with an ordinal', () => {
    const record = stored('record: with an ordinal')

    expect(ordinalOf(record)).to.equal(0x01020304)
    expect(ordinalOf(stored('record: document'))).to.equal(undefined)
    expect(versionOf(record)).to.equal(version)
    expect(expiresAtMsOf(record)).to.equal(expiresAtMs)
    expect(jsonOf(record).toString()).to.equal('{"n":1}')
  })

  it('refuse a document record that is cut short or of an unknown format', () => {
    const record = stored('record: with an ordinal')

    for (const bytes of [record.subarray(0, 23), Buffer.concat([Buffer.from([3]), record])]) {
      expect(() => checkRecord(bytes))
        .to.throw()
        .with.property('code', 'CORRUPTION')
    }
    expect(checkRecord(record.subarray(0, 24))).to.have.length(24)
  })

  it('read an applied position, with and without a part of the next entry', () => {
    const [whole, part] = ['applied position', 'applied position, and a part'].map(stored)

    expect([whole, part].map((bytes) => bytes && decodeApplied(bytes))).to.deep.equal([
      applied,
      applied,
    ])
    expect([whole, part].map((bytes) => bytes && hasPart(bytes))).to.deep.equal([false, true])
  })

  it('read the progress of an enrichment, and marks of parked documents', () => {
    const causes = ['refused', 'unreachable'].map((cause) => stored(`parked mark: ${cause}`))

    expect(decodeProgress(stored('enrichment progress'))).to.deep.equal(progress)
    expect(causes.map(decodeParkedMark)).to.deep.equal(['refused', 'unreachable'])
    expect(() => decodeParkedMark(Buffer.of(1, 9)))
      .to.throw()
      .with.property('code', 'CORRUPTION')
  })

  it('read a collected mark of an earlier version', () => {
    expect(decodeCollected(stored('collected mark'))).to.equal(version)
  })

  for (const [name, op] of Object.entries(intents)) {
    it(`read ${name} of an earlier version`, () => {
      expect(decodeIntent(stored(name))).to.deep.equal(intentOf(op))
    })
  }

  for (const [name, entry] of Object.entries(entries)) {
    it(`read ${name} of an earlier version`, () => {
      expect(decodeLogEntry(stored(name))).to.deep.equal(entry)
    })
  }

  it('read a log entry of format 1, whose touches are of documents', () => {
    const { touches } = decodeLogEntry(stored('format 1: log entry: touches'))

    expect(touches).to.deep.equal([
      { key, changed: 'document', deleted: false, previous: undefined },
      { key, changed: 'document', deleted: true, previous: timestampOf(5n) },
      { key, changed: 'document', deleted: false, previous: timestampOf(5n) },
    ])
  })

  for (const [state, status] of Object.entries(statuses)) {
    it(`read a ${state} transaction record of an earlier version`, () => {
      const record = decodeTransactionRecord(stored(`transaction record: ${state}`))

      expect(record).to.deep.equal({ status, participants })
    })

    it(`read a ${state} transaction record of format 1, whose participants are keys`, () => {
      const record = decodeTransactionRecord(stored(`format 1: transaction record: ${state}`))

      expect(record).to.deep.equal({ status, participants: [intervalOfKey(anchor)] })
    })
  }

  for (const [state, decision] of Object.entries(decisions)) {
    it(`read a ${state} finished mark of an earlier version`, () => {
      expect(decodeFinishedMark(stored(`finished mark: ${state}`))).to.deep.equal(decision)
    })
  }

  it('read a table record of an earlier version', () => {
    expect(decodeStored(stored('table record'))).to.deep.equal({ record: table, shards: undefined })
  })

  it('read a table record of format 1, which has the shards, and indexes of text alone', () => {
    const shards = [firstShard, lastShard]

    const read = decodeStored(stored('format 1: table record'))

    expect(read).to.deep.equal({ record: { ...table, indexes: formerIndexes }, shards })
  })

  it('read a table record whose indexes have no ids', () => {
    const { record } = decodeStored(stored('without ids: table record'))

    expect(record).to.deep.equal({ ...table, indexes: formerIndexes })
  })

  it('read shard records of an earlier version', () => {
    expect(decodeShard(stored('shard record: first'))).to.deep.equal(firstShard)
    expect(decodeShard(stored('shard record: last'))).to.deep.equal(lastShard)
  })

  it('refuse a table record of a later format', () => {
    const later = Buffer.from(JSON.stringify({ format: 3 }))

    expect(() => decodeStored(later)).to.throw('unknown format 3')
  })

  it('read the fields of a table of an earlier version', () => {
    expect(decodeFieldPage(stored('fields of a table'))).to.deep.equal(tableFields)
  })

  it('refuse fields of a table that are damaged or of an unknown format', () => {
    const pages = [
      '{"format":9,"fields":[]}',
      '{"format":1,"fields":[{"path":"a","kind":"string"}]}',
    ]

    for (const page of pages) {
      expect(() => decodeFieldPage(Buffer.from(page)))
        .to.throw()
        .with.property('code', 'CORRUPTION')
    }
  })

  for (const name of Object.keys(encoded).filter((one) => /^(intent|log|trans|fin)/.test(one))) {
    it(`refuse ${name} with an unknown format byte`, () => {
      const bytes = stored(name)
      bytes[0] = 99
      const decode = name.startsWith('intent')
        ? decodeIntent
        : name.startsWith('log')
          ? decodeLogEntry
          : name.startsWith('trans')
            ? decodeTransactionRecord
            : decodeFinishedMark

      expect(() => decode(bytes)).to.throw('unknown format 99')
    })
  }
})
