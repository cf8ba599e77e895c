import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { expect } from 'chai'
import { ServiceError } from '../../../../lib/errors.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { timestampOf } from '../../../../node/clock/hybrid-clock.ts'
import {
  CRC_BYTES_PER_STEP,
  crcOfEntry,
  crcOfEntryInSteps,
  decodeBatchHeader,
  decodeRow,
  decodeSegmentHeader,
  encodeBatchHead,
  encodeRow,
  encodeSegmentHeader,
  encodeLogId,
  encodeUncheckedRow,
  isHeaderValid,
  isHeadValid,
  rowKindOf,
  segmentFileName,
  setRowCrc,
} from '../../../../node/journal/journal-format.ts'
import type { Journal } from '../../../../node/journal/journal.ts'
import { appendedMark, markOfRow, type LogMark } from '../../../../node/journal/log-mark.ts'
import type { Effect } from '../../../../node/shard/format/effect.ts'
import { decodeApplied, encodeApplied } from '../../../../node/shard/format/applied-position.ts'
import { encodeRecord, encodeTombstone } from '../../../../node/shard/format/document-record.ts'
import {
  decodeBody,
  encodeBody,
  type LoggedEffect,
} from '../../../../node/shard/format/entry-body.ts'
import { buildTransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { textsOfLog } from '../../../support/worlds/journal-source.ts'
import { openTestJournal, TEST_SEGMENT_BYTES } from '../../../support/worlds/test-journal.ts'

const golden: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('../../../golden/journal-formats.json', import.meta.url), 'utf8'),
)

const version = timestampOf(0x018bcfe5_6800_0007n)
const previous = timestampOf(0x018bcfe5_6700_0001n)
const transactionId = buildTransactionId(version, 'fedcba9876543210')
const key = Buffer.from('a\0b')
const record = encodeRecord(
  { version, deleted: false, ttlGeneration: 3, expiresAtMs: 1_900_000_000_123 },
  Buffer.from('{"n":1}'),
)
const header = record.subarray(0, 20)
const numbered = encodeRecord(
  { version, deleted: false, ttlGeneration: 0, expiresAtMs: 0, ordinal: 7 },
  Buffer.from('{"n":2}'),
)
const whole = { previousRecord: undefined, intentOf: undefined }

interface EffectCase {
  readonly effect: Effect
  readonly logged: LoggedEffect
}

const effects: Readonly<Record<string, EffectCase>> = {
  put: {
    effect: { kind: 'put', key, value: Buffer.from('value') },
    logged: { kind: 'put', key, value: Buffer.from('value') },
  },
  del: { effect: { kind: 'del', key }, logged: { kind: 'del', key } },
  'document, new': {
    effect: { kind: 'document', key, record, previous: undefined, ...whole },
    logged: { kind: 'document', key, record, previous: undefined },
  },
  'document, overwrites': {
    effect: { kind: 'document', key, record, previous, ...whole },
    logged: { kind: 'document', key, record, previous },
  },
  'document, deleted': {
    effect: { kind: 'document', key, record: encodeTombstone(version), previous, ...whole },
    logged: { kind: 'document', key, record: encodeTombstone(version), previous },
  },
  'document, with an ordinal': {
    effect: { kind: 'document', key, record: numbered, previous: undefined, ...whole },
    logged: { kind: 'document', key, record: numbered, previous: undefined },
  },
  'retime, with an ordinal': {
    effect: { kind: 'retime', key, record: numbered },
    logged: { kind: 'retime', key, header: numbered.subarray(0, 24) },
  },
  promote: {
    effect: {
      kind: 'document',
      key,
      record,
      previous,
      previousRecord: undefined,
      intentOf: transactionId,
    },
    logged: { kind: 'promote', key, header, previous, intentOf: transactionId },
  },
  retime: { effect: { kind: 'retime', key, record }, logged: { kind: 'retime', key, header } },
}

const head = { kind: 'resolve', stamp: version, version: previous } as const

function bodyOf(effect: Effect): Buffer {
  return Buffer.concat(runAtOnce(encodeBody(head, [effect])).parts)
}

const last = { sequence: 258, epoch: 5, crc: 0x0a0b0c0d }
const logId = '00112233445566ff'

const marks: { readonly [Kind in LogMark['kind']]: LogMark } = {
  truncate: { kind: 'truncate', logId, last },
  promise: { kind: 'promise', logId, epoch: 9 },
  committed: { kind: 'committed', logId, sequence: 0x1_0000_0102 },
  restart: { kind: 'restart', logId, last },
}

/** Opens a journal whose only segment begins with golden bytes. */
async function openGolden(name: string): Promise<Journal> {
  const disk = new FaultyDisk()
  const { directory } = disk
  await directory.allocate(segmentFileName(1), TEST_SEGMENT_BYTES)
  await directory.sync()
  const file = await directory.open(segmentFileName(1))
  await file.write([Buffer.from(golden[name] ?? '', 'hex')], 0)
  await file.close()
  return openTestJournal({ disk })
}

describe('the formats of the journal', () => {
  const segment = { number: 7, firstBatch: 300, previousCrc: 0x01020304, salt: 0xcafebabe }
  const unchecked = {
    logId: '00112233445566ff',
    sequence: 258,
    epoch: 5,
    length: 4,
    previousCrc: 0x0a0b0c0d,
  }
  const body = [Buffer.from('bo'), Buffer.from('dy')]

  it('write a segment header as documented, and read it', () => {
    const bytes = encodeSegmentHeader(segment)

    expect(bytes.toString('hex')).to.equal(golden['segment header'])
    expect(decodeSegmentHeader(bytes, 7)).to.deep.equal(segment)
    expect(decodeSegmentHeader(bytes, 8)).to.equal(undefined)
  })

  it('read a segment header of which one copy is damaged', () => {
    for (const at of [0, 9, 20, 40, 64, 80, 100]) {
      const bytes = encodeSegmentHeader(segment)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      expect(decodeSegmentHeader(bytes, 7), `byte ${at}`).to.deep.equal(segment)
    }
  })

  it('write the row of an entry as documented, and read it', () => {
    const row = encodeUncheckedRow(encodeLogId(unchecked.logId), unchecked)
    const crc = crcOfEntry(row, body)
    setRowCrc(row, crc)

    expect(row.toString('hex')).to.equal(golden['row'])
    expect(decodeRow(row)).to.deep.equal({ ...unchecked, crc })
    expect(crcOfEntry(row, [Buffer.from('body')])).to.equal(crc)
  })

  it('write the row of a received entry with the bytes of the leader', () => {
    const row = encodeUncheckedRow(encodeLogId(unchecked.logId), unchecked)
    setRowCrc(row, crcOfEntry(row, body))

    expect(encodeRow(decodeRow(row)).equals(row)).to.equal(true)
  })

  for (const [kind, mark] of Object.entries(marks)) {
    it(`write a mark "${kind}" as documented, and read it`, () => {
      const { row } = appendedMark(mark)

      expect(row.toString('hex')).to.equal(golden[`mark: ${kind}`])
      expect(markOfRow(rowKindOf(row), decodeRow(row))).to.deep.equal(mark)
      expect(crcOfEntry(row, [])).to.equal(decodeRow(row).crc)
    })
  }

  it('refuse the segment header of a later version', () => {
    const bytes = encodeSegmentHeader(segment)
    for (const copy of [bytes.subarray(0, 64), bytes.subarray(64)]) {
      copy.writeUInt8(2, 7)
      copy.writeUInt32BE(crc32(copy.subarray(0, 32)), 32)
    }

    expect(() => decodeSegmentHeader(bytes, 7)).to.throw(ServiceError, 'newer version')
    expect(decodeSegmentHeader(bytes, 8)).to.equal(undefined)
  })

  it('read a journal of version 1, and one with marks', async () => {
    const v1 = await openGolden('journal of version 1')
    const marked = await openGolden('journal with marks')

    expect(await textsOfLog(v1, '000000000000000a')).to.deep.equal(['one', 'two', 'three'])
    expect(await textsOfLog(v1, '000000000000000b')).to.deep.equal(['of b'])
    expect(v1.stateOf('000000000000000a')).to.deep.equal({ promised: 0, committed: 0 })
    expect(await textsOfLog(marked, '000000000000000a')).to.deep.equal(['one', 'two anew'])
    expect(await textsOfLog(marked, '000000000000000b')).to.deep.equal(['behind the snapshot'])
    expect(marked.stateOf('000000000000000a')).to.deep.equal({ promised: 4, committed: 1 })
  })

  it('compute the same crc of a long body in steps', () => {
    const row = encodeUncheckedRow(encodeLogId(unchecked.logId), unchecked)
    const parts = [1, 3 * CRC_BYTES_PER_STEP + 5, 0, 700].map((bytes) => Buffer.alloc(bytes, 'x'))
    const steps = [...crcOfEntryInSteps(row, parts)].length

    expect(runAtOnce(crcOfEntryInSteps(row, parts))).to.equal(crcOfEntry(row, parts))
    expect(steps).to.equal(3)
  })

  it('write header and table of a batch as documented, and read them', () => {
    const row = encodeUncheckedRow(encodeLogId(unchecked.logId), unchecked)
    setRowCrc(row, crcOfEntry(row, body))
    const fields = { length: 68, number: 300, previousCrc: 0x01020304, salt: 0xcafebabe }
    const bytes = encodeBatchHead({ ...fields, rows: [row] })

    expect(bytes.toString('hex')).to.equal(golden['batch head'])
    const { crc: _, ...read } = decodeBatchHeader(bytes, 0)
    expect(read).to.deep.equal({ length: 68, number: 300, previousCrc: 0x01020304, count: 1 })
    expect(isHeaderValid(bytes, 0, fields.salt)).to.equal(true)
    expect(isHeadValid(bytes, fields.salt)).to.equal(true)
    expect(isHeaderValid(bytes, 0, 1)).to.equal(false)
    expect(isHeadValid(bytes, 1)).to.equal(false)
  })

  for (const [name, { effect, logged }] of Object.entries(effects)) {
    it(`write the body of an entry with "${name}" as documented, and read it`, () => {
      const bytes = bodyOf(effect)

      expect(bytes.toString('hex')).to.equal(golden[`body: ${name}`])
      const decoded = decodeBody(bytes)
      expect(decoded.head).to.deep.equal(head)
      expect([...decoded.effects]).to.deep.equal([logged])
    })
  }

  it('pass long values on without a copy', () => {
    const value = Buffer.alloc(100_000, 'v')
    const { parts, length } = runAtOnce(encodeBody(head, [{ kind: 'put', key, value }]))

    expect(parts).to.include(value)
    expect(length).to.equal(Buffer.concat(parts).length)
    expect([...decodeBody(Buffer.concat(parts)).effects]).to.deep.equal([
      { kind: 'put', key, value },
    ])
  })

  it('write the applied position as documented, and read it', () => {
    const position = { sequence: 258, epoch: 5, crc: 0x0a0b0c0d, nextOrdinal: 0x01020304 }
    const bytes = encodeApplied(position)

    expect(bytes.toString('hex')).to.equal(golden['applied position'])
    expect(decodeApplied(bytes)).to.deep.equal(position)
  })

  it('read the applied position of a version without ordinals', () => {
    const bytes = Buffer.from(golden['applied position without an ordinal'] ?? '', 'hex')

    expect(decodeApplied(bytes)).to.deep.equal({
      sequence: 258,
      epoch: 5,
      crc: 0x0a0b0c0d,
      nextOrdinal: 0,
    })
  })
})
