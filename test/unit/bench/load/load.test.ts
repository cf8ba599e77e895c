import { expect } from 'chai'
import type { InsertBatches } from '../../../../bench/load/load-job.ts'
import { buildRequests } from '../../../../bench/load/requests.ts'
import { HttpAnswerReader } from '../../../../bench/load/http-answer-reader.ts'

describe('HttpAnswerReader', () => {
  const text = 'HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello'

  it('reads an answer that comes in one piece', () => {
    const answer = new HttpAnswerReader().push(Buffer.from(text))

    expect(answer?.status).to.equal(201)
    expect(answer?.body.toString()).to.equal('hello')
  })

  it('reads an answer cut anywhere in two', () => {
    for (let cut = 1; cut < text.length; cut += 1) {
      const reader = new HttpAnswerReader()

      const early = reader.push(Buffer.from(text.slice(0, cut)))
      const answer = reader.push(Buffer.from(text.slice(cut)))

      expect(early, `cut at ${cut}`).to.equal(undefined)
      expect(answer?.body.toString(), `cut at ${cut}`).to.equal('hello')
    }
  })

  it('starts afresh after each answer', () => {
    const reader = new HttpAnswerReader()
    reader.push(Buffer.from(text))

    const second = reader.push(Buffer.from('HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n'))

    expect(second?.status).to.equal(404)
  })

  it('refuses an answer without a length', () => {
    const chunked = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')

    expect(() => new HttpAnswerReader().push(chunked)).to.throw('without a length')
  })

  it('refuses bytes beyond the answer', () => {
    expect(() => new HttpAnswerReader().push(Buffer.from(`${text}!`))).to.throw('more bytes')
  })
})

function bodies(plan: InsertBatches): Record<string, object>[] {
  const next = buildRequests(plan)
  const found: Record<string, object>[] = []
  for (let request = next(); request !== undefined; request = next()) {
    const text = request.toString()
    const body = text.slice(text.indexOf('\r\n\r\n') + 4)
    expect(text).to.contain(`Content-Length: ${Buffer.byteLength(body)}\r\n`)
    found.push(JSON.parse(body).inserts)
  }
  return found
}

function keysOf(plan: InsertBatches): string[] {
  return bodies(plan).flatMap((one) => Object.keys(one))
}

describe('bench requests', () => {
  const batches: InsertBatches = {
    kind: 'insert-batches',
    path: '/batch',
    shape: 'small',
    seed: 1,
    firstDocument: 100,
    documents: 25,
    documentsPerBatch: 10,
    keyOrder: 'ascending',
    prepared: false,
  }

  it('sends every document once, in batches', () => {
    const sent = bodies(batches)

    expect(sent.map((one) => Object.keys(one).length)).to.deep.equal([10, 10, 5])
    expect(sent[0]).to.have.property('doc-0000000100')
    expect(sent[2]).to.have.property('doc-0000000124')
  })

  it('sends the same requests whether they are prepared or not', () => {
    expect(bodies({ ...batches, prepared: true })).to.deep.equal(bodies(batches))
  })

  it('scatters the same keys', () => {
    const scattered = keysOf({ ...batches, keyOrder: 'scattered' })

    expect(scattered).to.not.deep.equal(keysOf(batches))
    expect(scattered.toSorted()).to.deep.equal(keysOf(batches))
  })

  it('distributes every batch over four shards', () => {
    const [first] = bodies({ ...batches, keyOrder: 'by-shard' })

    const prefixes = new Set(Object.keys(first!).map((key) => key[0]))
    expect([...prefixes]).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('gives each single write a key of its own, and the bare server the key in the path', () => {
    const next = buildRequests({
      kind: 'insert-each',
      target: { kind: 'bare' },
      seed: 1,
      firstDocument: 7,
    })

    expect(next()!.toString()).to.match(/^POST \/doc-0000000007 .*"doc-0000000007":\{/s)
    expect(next()!.toString()).to.match(/^POST \/doc-0000000008 .*"doc-0000000008":\{/s)
  })

  it('looks up existing keys only, by the seed', () => {
    const plan = { kind: 'lookups', path: '/lookup/', seed: 3, documents: 5 } as const
    const [one, other] = [buildRequests(plan), buildRequests(plan)]

    for (let i = 0; i < 100; i += 1) {
      const request = one()!.toString()
      expect(request).to.match(/^GET \/lookup\/doc-000000000[0-4] HTTP\/1.1\r\n/)
      expect(other()!.toString()).to.equal(request)
    }
  })
})
