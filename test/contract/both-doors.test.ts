import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import { OPERATIONS as INFERENCE_OPERATIONS } from '../../inference/api/server/handler-table.ts'
import { OPERATIONS } from '../../node/api/server/handler-table.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { prepareBooks, send, startApi } from './api-harness.ts'
import { hotRequests } from './hot-operations.ts'
import type { Api, Received, Sent } from './api-harness.ts'

const BATCH = '/api/v1/tables/books/batch'
const QUERY = '/api/v1/tables/books/query'
const LOOKUP = '/api/v1/tables/books/lookup'
const WRITE = '{"inserts":{"k":{"a":1}}}'

const post = (body: string | Buffer, headers = {}): Sent => ({
  method: 'POST',
  path: BATCH,
  body,
  headers,
})
const query = (body: string | Buffer, headers = {}): Sent => ({
  ...post(body, headers),
  path: QUERY,
})
const get = (path: string, method = 'GET'): Sent => ({ method, path })

const requests: Readonly<Record<string, { sent: Sent; status: number }>> = {
  'a stored document': { sent: get(`${LOOKUP}/book%2F1`), status: 200 },
  'a document with a big integer': { sent: get(`${LOOKUP}/big`), status: 200 },
  'a HEAD of a document': { sent: get(`${LOOKUP}/big`, 'HEAD'), status: 200 },
  'a lookup with fields': { sent: get(`${LOOKUP}/book%2F1?fields=title`), status: 200 },
  'a lookup with an empty query': { sent: get(`${LOOKUP}/book%2F1?`), status: 200 },
  'a lookup with an unknown query': { sent: get(`${LOOKUP}/book%2F1?field=title`), status: 400 },
  'an absent document': { sent: get(`${LOOKUP}/nobody`), status: 404 },
  'an absent key of emoji': { sent: get(`${LOOKUP}/%F0%9F%93%9A`), status: 404 },
  'a key with NUL': { sent: get(`${LOOKUP}/a%00b`), status: 404 },
  'a key that looks like a path': { sent: get(`${LOOKUP}/%2e%2e%2f%2e%2e`), status: 404 },
  'an unencoded slash in a key': { sent: get(`${LOOKUP}/book/1`), status: 404 },
  'an empty key': { sent: get(`${LOOKUP}/`), status: 400 },
  'a malformed escape': { sent: get(`${LOOKUP}/a%zz`), status: 400 },
  'invalid UTF-8 in a key': { sent: get(`${LOOKUP}/%ff`), status: 400 },
  'an overlong key': { sent: get(`${LOOKUP}/${'k'.repeat(1025)}`), status: 400 },
  'the longest key': { sent: get(`${LOOKUP}/${'k'.repeat(1024)}`), status: 404 },
  'an unknown table': { sent: get('/api/v1/tables/nothing/lookup/k'), status: 404 },
  'a bad table name': { sent: get('/api/v1/tables/.books/lookup/k'), status: 400 },
  'a table name that is an object member': {
    sent: get('/api/v1/tables/constructor/lookup/k'),
    status: 404,
  },
  'a trailing slash': { sent: get(`${LOOKUP}/k/`), status: 404 },
  'a batch': { sent: post(WRITE), status: 201 },
  'a batch in gzip': { sent: post(gzipSync(WRITE), { 'content-encoding': 'gzip' }), status: 201 },
  'a batch with a charset': {
    sent: post(WRITE, { 'content-type': 'application/json; charset=UTF-8' }),
    status: 201,
  },
  'a batch with a query': { sent: { ...post(WRITE), path: `${BATCH}?x=1` }, status: 400 },
  'a batch with a trailing slash': { sent: { ...post(WRITE), path: `${BATCH}/` }, status: 404 },
  'a batch for an unknown table': {
    sent: { ...post(WRITE), path: '/api/v1/tables/nothing/batch' },
    status: 404,
  },
  'a batch with an idempotency key': {
    sent: post(WRITE, { 'idempotency-key': 'a1' }),
    status: 201,
  },
  'a batch with a bad idempotency key': {
    sent: post(WRITE, { 'idempotency-key': 'a b' }),
    status: 400,
  },
  'an empty body': { sent: post(''), status: 400 },
  'a batch of nothing': { sent: post('{}'), status: 400 },
  'a body that is no JSON': { sent: post('{"inserts":'), status: 400 },
  'a body with trailing text': { sent: post(`${WRITE} x`), status: 400 },
  'a byte order mark': { sent: post(`\u{feff}${WRITE}`), status: 400 },
  'invalid UTF-8': { sent: post(Buffer.from([0x7b, 0xff, 0x7d])), status: 400 },
  'an unknown field': { sent: post('{"insert":{}}'), status: 400 },
  'a wrong sync level': {
    sent: post('{"inserts":{"k":{}},"sync_level":"soon"}'),
    status: 400,
  },
  'a document that is no object': { sent: post('{"inserts":{"k":1}}'), status: 400 },
  'text/plain': { sent: post(WRITE, { 'content-type': 'text/plain' }), status: 415 },
  'utf-16': {
    sent: post(WRITE, { 'content-type': 'application/json;charset=utf-16' }),
    status: 415,
  },
  brotli: { sent: post(WRITE, { 'content-encoding': 'br' }), status: 415 },
  'broken gzip': { sent: post(WRITE, { 'content-encoding': 'gzip' }), status: 400 },
  'a body beyond the limit': {
    sent: post(`{"inserts":{"k":{"a":"${'x'.repeat(70_000)}"}}}`),
    status: 413,
  },
  'a chunked body': { sent: post(WRITE, { 'transfer-encoding': 'chunked' }), status: 201 },
  'a chunked body beyond the limit': {
    sent: post(' '.repeat(5_000_000), { 'transfer-encoding': 'chunked' }),
    status: 413,
  },
  'gzip beyond the limit': {
    sent: post(gzipSync(' '.repeat(1_000_000)), { 'content-encoding': 'gzip' }),
    status: 413,
  },
  'a query': { sent: query('{}'), status: 200 },
  'a query that finds': { sent: query('{"full_text_search":{"match_all":{}}}'), status: 200 },
  'two queries in lines': {
    sent: query('{"limit":1}\n{"limit":0}\n', { 'content-type': 'application/x-ndjson' }),
    status: 200,
  },
  'a query in gzip': { sent: query(gzipSync('{}'), { 'content-encoding': 'gzip' }), status: 200 },
  'a query of an unknown table': {
    sent: { ...query('{}'), path: '/api/v1/tables/nothing/query' },
    status: 404,
  },
  'a query with a parameter': { sent: { ...query('{}'), path: `${QUERY}?x=1` }, status: 400 },
  'a query without a body': { sent: query(''), status: 400 },
  'a query that is no JSON': { sent: query('{"limit":'), status: 400 },
  'a query that is no object': { sent: query('[1]'), status: 400 },
  'a query with an unknown field': { sent: query('{"limits":1}'), status: 400 },
  'a query with a wrong limit': { sent: query('{"limit":10001}'), status: 400 },
  'a query of text/plain': {
    sent: query('{}', { 'content-type': 'text/plain' }),
    status: 415,
  },
  'a query with an idempotency key': {
    sent: query('{}', { 'idempotency-key': 'a1' }),
    status: 200,
  },
  'a search by its address': { sent: get(`${QUERY}?q=a`), status: 200 },
  'a wrong method on query': { sent: { ...get(QUERY), method: 'PUT' }, status: 405 },
  'a wrong method on batch': { sent: get(BATCH), status: 405 },
}

describe('the hot door and the front door', () => {
  let hot: Api
  let front: Api

  before(async () => {
    hot = await startApi({ bodyBytesMax: 65_536, isSearched: true })
    front = await startApi({ bodyBytesMax: 65_536, hotDoor: false, isSearched: true })
    await prepareBooks(hot)
    await prepareBooks(front)
    await Promise.all([hot, front].map(untilSearched))
  })

  after(async () => {
    await hot[Symbol.asyncDispose]()
    await front[Symbol.asyncDispose]()
  })

  for (const [name, { sent, status }] of Object.entries(requests)) {
    for (const [way, asked] of Object.entries(waysOf(sent))) {
      it(`answer alike: ${name} ${way}`, async () => {
        const [left, right] = [await hot.send(asked), await front.send(asked)]

        if (left.status === 201) await Promise.all([hot, front].map(untilSearched))
        expect(left.status).to.equal(status)
        expect(comparable(left)).to.deep.equal(comparable(right))
      })
    }
  }

  it('keep every digit of a big integer', async () => {
    const { body } = await hot.send(get(`${LOOKUP}/big`))

    expect(body).to.equal('{"n":9007199254740993}')
  })

  it('report the version of a document, and 0 for an absent one', async () => {
    const found = await hot.send(get(`${LOOKUP}/big`))
    const absent = await hot.send(get(`${LOOKUP}/nobody`))

    expect(found.headers['x-service-version']).to.match(/^[1-9][0-9]*$/)
    expect(absent.headers['x-service-version']).to.equal('0')
  })

  it('write nothing to the log', () => {
    expect([...hot.logged, ...front.logged]).to.deep.equal([])
  })
})

describe('both ways through the door of the store', () => {
  let hot: Api
  let front: Api

  before(async () => {
    hot = await startApi({ isSearched: true })
    front = await startApi({ hotDoor: false, isSearched: true })
    await prepareBooks(hot)
    await prepareBooks(front)
    await Promise.all([hot, front].map(untilSearched))
  })

  after(async () => {
    await hot[Symbol.asyncDispose]()
    await front[Symbol.asyncDispose]()
  })

  it('answer alike whatever the contract allows or forbids', async () => {
    const requested = Object.entries(hotRequests(loadContract('store.v1'), OPERATIONS))
    const generated = requested.flatMap(([name, sent]) =>
      Object.entries(waysOf(sent)).map(([way, asked]) => [`${name} ${way}`, asked] as const),
    )
    const statuses = new Set<number>()
    for (const [name, sent] of generated) {
      const [left, right] = [await hot.send(sent), await front.send(sent)]
      expect(comparable(left), name).to.deep.equal(comparable(right))
      statuses.add(left.status)
      if (left.status === 201) await Promise.all([hot, front].map(untilSearched))
    }

    expect([...statuses]).to.include.members([200, 201, 400, 404])
    expect(generated.length).to.be.above(400)
  })

  it('send a long document alike', async () => {
    const document = `{"text":"${'sea '.repeat(100_000)}"}`
    const batch = waysOf(post(`{"inserts":{"long":${document}}}`))['on a connection that stays']
    await Promise.all([hot, front].map((api) => api.send(batch)))
    const lookup = waysOf(get(`${LOOKUP}/long`))['on a connection that stays']

    const [left, right] = [await hot.send(lookup), await front.send(lookup)]

    expect(left.body).to.equal(document)
    expect(comparable(left)).to.deep.equal(comparable(right))
  })
})

describe('both ways through the door of the inference server', () => {
  it('answer alike whatever the contract allows or forbids', async () => {
    await using hot = await InferenceServer.start()
    await using front = await InferenceServer.start(undefined, {}, { door: { hotDoor: false } })
    const model = JSON.stringify('builtin-hash')
    const generated = hotRequests(loadContract('inference.v1'), INFERENCE_OPERATIONS)
    const statuses = new Set<number>()
    for (const [name, sent] of Object.entries(generated)) {
      const body = String(sent.body).replace(/"model":"[^"]+"/, `"model":${model}`)
      const asked = { ...sent, body, headers: { 'x-request-id': 'same' } }
      const [left, right] = [await send(hot.url, asked), await send(front.url, asked)]
      expect(comparable(left), name).to.deep.equal(comparable(right))
      statuses.add(left.status)
    }

    expect([...statuses]).to.include.members([200, 400, 404])
  })
})

/** The plain door takes requests of connections that stay, and leaves the last one of a connection to node:http. */
function waysOf(sent: Sent) {
  const staying = { connection: 'keep-alive' }
  return {
    'on a connection that ends': sent,
    'on a connection that stays': { ...sent, headers: { ...sent.headers, ...staying } },
  } satisfies Record<string, Sent>
}

/** Resolves when searches see all that was written. */
async function untilSearched(api: Api): Promise<void> {
  const body = '{"deletes":["nobody"],"sync_level":"full_text"}'
  const { status } = await api.send({ method: 'POST', path: BATCH, body })
  expect(status).to.equal(201)
}

/** All but the time of day, how long it took, and the stamps of two clocks. */
function comparable({ status, headers, body }: Received) {
  const { date: _, 'content-length': length, 'x-service-version': version, ...others } = headers
  const shown = { ...others, hasLength: length !== undefined, isAbsent: version === '0' }
  return { status, headers: shown, body: body.replaceAll(/"took":\d+/g, '"took":0') }
}
