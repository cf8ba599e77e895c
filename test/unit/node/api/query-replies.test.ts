import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { ServiceError } from '../../../../lib/errors.ts'
import { ApiMetrics } from '../../../../node/api/metrics.ts'
import type { ApiServerOptions } from '../../../../node/api/server/api-server.ts'
import type { QueryHit, QueryResult } from '../../../../node/search/run/query-result.ts'
import type { StoreService } from '../../../../node/store/store-service.ts'
import { startApi } from '../../../contract/api-harness.ts'
import { until } from '../../../support/until.ts'

const MIB = 2 ** 20
const PATH = '/api/v1/tables/books/query'
const LINES = '{"limit":1}\n'.repeat(100)

function hitOf(id: string, source: Buffer): QueryHit {
  return { _id: id, _score: 1, _source: source, _sort: ['n1', 'k'] }
}

function resultOf(hits: readonly QueryHit[]): QueryResult {
  const total = hits.length
  return { status: 200, took: 1, table: 'books', hits: { total, max_score: 1, hits } }
}

const holdTooMuch: StoreService['query'] = async (_name, _request, { memory }) => {
  memory?.add(9 * MIB)
  return resultOf([])
}

const refuseWhileBuilding: StoreService['query'] = () => {
  throw new ServiceError('UNAVAILABLE', 'the text index "a" is being built (9 %)')
}

const LARGE = Buffer.from(JSON.stringify({ text: 'x'.repeat(MIB) }))

/** Answers with one large document each time, charged as the store does, and counts how often. */
function countingQueries() {
  const asked = { count: 0 }
  const query: StoreService['query'] = async (_name, _request, { memory }) => {
    asked.count += 1
    memory?.add(LARGE.length)
    return resultOf([hitOf(`h${asked.count}`, LARGE)])
  }
  return { asked, query }
}

async function startQueries(url: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url)
  const headers = { 'content-type': 'application/x-ndjson' }
  const request = httpRequest({ hostname, port, path: PATH, method: 'POST', agent: false, headers })
  request.end(LINES)
  const [response] = await once(request, 'response')
  return response
}

async function textOf(response: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

describe('the answers of queries', () => {
  const options: Partial<Omit<ApiServerOptions, 'service'>> = { requestMemoryBytes: 8 * MIB }

  it('are computed as the client reads them, and hold the memory of few', async () => {
    const { asked, query } = countingQueries()
    const metrics = new ApiMetrics()
    await using api = await startApi({ ...options, metrics, service: { query } })

    const response = await startQueries(api.url)
    await until(async () => asked.count > 1)
    const askedUnread = asked.count
    const answers: { responses: { status: number }[] } = JSON.parse(await textOf(response))

    // The buffers of two sockets take the first of them.
    expect(askedUnread).to.be.below(50)
    expect(answers.responses.map(({ status }) => status)).to.deep.equal(Array(100).fill(200))
    expect(await metrics.text()).to.match(/^quarry_request_memory_bytes 0$/m)
  })

  it('stop when the client disconnects', async () => {
    const { asked, query } = countingQueries()
    const metrics = new ApiMetrics()
    await using api = await startApi({ ...options, metrics, service: { query } })
    const response = await startQueries(api.url)
    response.on('error', () => undefined)

    response.destroy()

    await until(async () => (await metrics.text()).includes('status="499"'))
    expect(asked.count).to.be.below(50)
    expect(await metrics.text()).to.match(/^quarry_request_memory_bytes 0$/m)
    expect(api.logged).to.deep.equal([])
  })

  it('have an error for each query without room, and continue with the next', async () => {
    let count = 0
    const query: StoreService['query'] = async (_name, _request, { memory }) => {
      count += 1
      if (count === 2) memory?.add(9 * MIB)
      return resultOf([])
    }
    await using api = await startApi({ ...options, service: { query } })

    const { body } = await api.send({ method: 'POST', path: PATH, body: '{}\n{}\n{}' })

    const { responses }: { responses: { status: number }[] } = JSON.parse(body)
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 503, 200])
  })

  it('are refused with 503 when a single one has no room', async () => {
    await using api = await startApi({ ...options, service: { query: holdTooMuch } })

    const { status, headers } = await api.send({ method: 'POST', path: PATH, body: '{}' })

    expect([status, headers['retry-after']]).to.deep.equal([503, '1'])
  })

  it('carry Retry-After while an index is built', async () => {
    await using api = await startApi({ service: { query: refuseWhileBuilding } })

    const { status, headers } = await api.send({ method: 'POST', path: PATH, body: '{}' })

    expect([status, headers['retry-after']]).to.deep.equal([503, '1'])
  })

  it('have a Content-Length when they are short, and none when they are long', async () => {
    const answer = { hits: [hitOf('short', Buffer.from('{"a":1}'))] }
    const query: StoreService['query'] = async () => resultOf(answer.hits)
    await using api = await startApi({ service: { query } })

    const short = await api.send({ method: 'POST', path: PATH, body: '{}' })
    answer.hits = [hitOf('long', LARGE)]
    const long = await api.send({ method: 'POST', path: PATH, body: '{}' })

    expect(short.headers['content-length']).to.equal(String(short.body.length))
    expect(long.headers['transfer-encoding']).to.equal('chunked')
    expect(JSON.parse(long.body)).to.deep.nested.include({
      'responses[0].hits.hits[0]._source': JSON.parse(LARGE.toString()),
    })
  })

  it('break off when something unexpected happens in the middle', async () => {
    const { query } = countingQueries()
    let count = 0
    const failing: StoreService['query'] = (name, request, scope) => {
      count += 1
      if (count > 20) throw new Error('a bug')
      return query(name, request, scope)
    }
    await using api = await startApi({ ...options, service: { query: failing } })

    const response = await startQueries(api.url)
    const outcome = await textOf(response).catch((error: unknown) => String(error))

    expect(outcome).to.include('aborted')
    expect(api.logged).to.have.length(1)
  })
})
