import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { timestampOf } from '../../../../../node/clock/hybrid-clock.ts'
import { encodeRow } from '../../../../../node/journal/journal-format.ts'
import {
  decodeMessage,
  encodeMessage,
  type SentEntry,
} from '../../../../../node/replication/shell/message-codec.ts'
import { errorOf } from '../../../../support/error-of.ts'

const LOG = '00000000000000aa'
const ENVELOPE = { logId: LOG, incarnation: 7, hybridTime: timestampOf(0x1122_3344_5566_7788n) }
const PREVIOUS = { sequence: 4, epoch: 2, crc: 0xdeadbeef }

const APPEND = {
  kind: 'append' as const,
  epoch: 3,
  previous: PREVIOUS,
  committed: 4,
  sentMs: 1234.5,
  logEnd: 6,
  closed: { time: 0x1122_3344_0000_0001n, sequence: 4 },
}
const MESSAGES = {
  appended: { kind: 'appended', epoch: 3, durable: 6, sentMs: 1234.5, logEnd: 6 },
  mismatch: { kind: 'mismatch', epoch: 3, hint: PREVIOUS },
  refused: { kind: 'refused', epoch: 3, held: PREVIOUS, isCommitted: true },
  stale: { kind: 'stale', epoch: 4 },
  release: { kind: 'release', epoch: 3 },
  ping: { kind: 'ping', epoch: 3, round: 9 },
  pong: { kind: 'pong', epoch: 3, round: 9 },
  closed: { kind: 'closed', epoch: 3, point: { time: 0x1122_3344_0000_0001n, sequence: 4 } },
} as const

function entry(sequence: number, text: string): SentEntry {
  const body = Buffer.from(text)
  const of = { logId: LOG, sequence, epoch: 3, length: body.length, previousCrc: 1, crc: 2 }
  return { row: encodeRow(of), body: [body] }
}

const golden: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('../../../../golden/replication-messages.json', import.meta.url), 'utf8'),
)

const ENTRIES = [entry(5, 'first'), entry(6, '')]

describe('messages of replication', () => {
  it('have the documented bytes with entries, and are read as they were', () => {
    const bytes = encodeMessage(ENVELOPE, APPEND, ENTRIES)

    expect(bytes.toString('hex')).to.equal(golden['append'])
    const { envelope, message } = decodeMessage(bytes)
    expect(envelope).to.deep.equal(ENVELOPE)
    const entries = ENTRIES.map(({ row, body }) => ({ row, body: Buffer.concat(body) }))
    expect(message).to.deep.equal({ ...APPEND, entries })
  })

  for (const [kind, message] of Object.entries(MESSAGES)) {
    it(`have the documented bytes for "${kind}", and are read as they were`, () => {
      const bytes = encodeMessage(ENVELOPE, message)

      expect(bytes.toString('hex')).to.equal(golden[kind])
      expect(decodeMessage(bytes)).to.deep.equal({ envelope: ENVELOPE, message })
    })
  }

  it('are refused when they are cut off anywhere, or longer', async () => {
    for (const bytes of [
      encodeMessage(ENVELOPE, APPEND, ENTRIES),
      ...Object.values(MESSAGES).map((message) => encodeMessage(ENVELOPE, message)),
    ]) {
      for (let length = 0; length < bytes.length; length++) {
        const error = await errorOf(() => decodeMessage(bytes.subarray(0, length)))
        expect(error, `${length}`).to.include({ code: 'INVALID_ARGUMENT' })
      }
      const longer = Buffer.concat([bytes, Buffer.alloc(1)])
      expect(await errorOf(() => decodeMessage(longer))).to.include({ code: 'INVALID_ARGUMENT' })
    }
  })

  it('are refused or read, whatever the bytes are', () => {
    const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))
    const head = encodeMessage(ENVELOPE, APPEND, ENTRIES).subarray(0, 26)
    fc.assert(
      fc.property(noise, fc.integer({ min: 0, max: 8 }), (bytes, kind) => {
        const message = Buffer.concat([head, bytes])
        message[1] = kind
        try {
          decodeMessage(message)
        } catch (error) {
          expect(error).to.include({ code: 'INVALID_ARGUMENT' })
        }
      }),
    )
  })
})
