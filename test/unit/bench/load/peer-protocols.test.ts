import { expect } from 'chai'
import { EtcdAnswerReader } from '../../../../bench/load/etcd-answer-reader.ts'
import {
  FLAG,
  FRAME,
  frame,
  numberStream,
  putRequest,
} from '../../../../bench/load/etcd-requests.ts'
import { PostgresAnswerReader } from '../../../../bench/load/postgres-answer-reader.ts'
import { upsertRequest } from '../../../../bench/load/postgres-requests.ts'

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const READY = message('Z', Buffer.from('I'))

/** A reader whose session has begun. */
function greetedPostgres(): PostgresAnswerReader {
  const reader = new PostgresAnswerReader()
  expect(reader.push(READY)).to.equal(undefined)
  expect(reader.push(READY)?.status).to.equal(200)
  return reader
}

describe("PostgreSQL's protocol", () => {
  it('answers when the server is ready again, wherever its bytes are cut', () => {
    const bytes = Buffer.concat([
      message('2', Buffer.alloc(0)),
      message('C', Buffer.from('x')),
      READY,
    ])
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = greetedPostgres()

      expect(reader.push(bytes.subarray(0, cut)), `cut at ${cut}`).to.equal(undefined)
      expect(reader.push(bytes.subarray(cut))?.status, `cut at ${cut}`).to.equal(200)
    }
  })

  it('answers an error, and is well again after it', () => {
    const reader = greetedPostgres()

    const refused = reader.push(Buffer.concat([message('E', Buffer.from('no')), READY]))

    expect(refused?.status).to.equal(500)
    expect(refused?.body.toString()).to.equal('no')
    expect(reader.push(READY)?.status).to.equal(200)
  })

  it('binds key and document as text', () => {
    const request = upsertRequest('k', '{"n":1}')

    expect(request.toString('latin1', 0, 1)).to.equal('B')
    expect(request.includes('{"n":1}')).to.equal(true)
    expect(request.readInt32BE(1)).to.equal(request.indexOf('E', 0, 'latin1') - 1)
  })
})

describe("etcd's protocol", () => {
  it('gives both frames of a put the number of their stream', () => {
    const request = putRequest('key', 'v'.repeat(300))

    numberStream(request, 4)

    const headers = 9 + request.readUIntBE(0, 3)
    expect(request.readUInt32BE(5)).to.equal(7)
    expect(request.readUInt8(headers + 3)).to.equal(FRAME.data)
    expect(request.readUInt32BE(headers + 5)).to.equal(7)
    expect(headers + 9 + request.readUIntBE(headers, 3)).to.equal(request.length)
  })

  it('answers the message of a call at its end, and acknowledges settings and pings', () => {
    const sent: Buffer[] = []
    const reader = new EtcdAnswerReader((bytes) => sent.push(bytes))

    const greeted = reader.push(frame(FRAME.settings, 0, Buffer.alloc(0)))
    reader.push(frame(FRAME.ping, 0, Buffer.alloc(8)))
    const early = reader.push(frame(FRAME.data, 0, Buffer.from('answer')))
    const answer = reader.push(
      frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, Buffer.from('t')),
    )

    expect(greeted?.status).to.equal(200)
    expect(sent.map((bytes) => [bytes.readUInt8(3), bytes.readUInt8(4)])).to.deep.equal([
      [FRAME.settings, FLAG.ack],
      [FRAME.ping, FLAG.ack],
    ])
    expect(early).to.equal(undefined)
    expect(answer?.body.toString()).to.equal('answer')
  })

  it('reports a call without a message as failed', () => {
    const reader = new EtcdAnswerReader(() => undefined)

    const answer = reader.push(frame(FRAME.headers, FLAG.endStream, Buffer.from('t')))

    expect(answer?.status).to.equal(500)
  })

  it('grants the server more bytes before its window is used up', () => {
    const sent: Buffer[] = []
    const reader = new EtcdAnswerReader((bytes) => sent.push(bytes))

    for (let at = 0; at < 3; at++) reader.push(frame(FRAME.data, 0, Buffer.alloc(16_000)))

    expect(sent.map((bytes) => bytes.readUInt8(3))).to.deep.equal([FRAME.windowUpdate])
    expect(sent[0]?.readUInt32BE(9)).to.equal(48_000)
  })
})
