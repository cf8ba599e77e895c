// The rule of slices: whatever a client asks for within the limits, the event loop goes on turning and
// memory stays within bounds. Each operation of the contract is driven at its limits.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { loadContract } from '../../openapi/contract.ts'
import { countTo } from '../harness/load.ts'
import { ProcessWatch, type Held } from '../harness/process-watch.ts'
import { WITH_COLLECTIONS_MS_MAX, WORK_MS_MAX } from '../harness/slice-rule.ts'
import { StoreClient } from '../harness/store-client.ts'
import { StoreProcess } from '../harness/store-process.ts'

const MIB = 1024 * 1024
/** Memory beyond what the process had: several times the largest body, and the garbage of it. */
const PEAK_BYTES_MAX = 1024 * MIB

const TABLES = '/api/v1/tables'
const DOCUMENT_MIB = 9

interface Answered {
  readonly status: number
  readonly text: string
}

/** Drives one operation at one limit, and checks what it is answered. */
type Case = (client: StoreClient) => Promise<void>

async function expectStatus(answer: Promise<Answered>, status: number): Promise<void> {
  const { status: found, text } = await answer
  expect(found, text.slice(0, 500)).to.equal(status)
}

function post(
  client: StoreClient,
  asked: string,
  body: string | Uint8Array<ArrayBuffer>,
  encoding = 'identity',
): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
  return fetch(`${client.url}${asked}`, { method: 'POST', headers, body })
}

/** Of an answer that is longer than a string may be. */
async function bytesOf({ body }: Response): Promise<number> {
  let bytes = 0
  for await (const chunk of body ?? []) bytes += chunk.length
  return bytes
}

const tinyDocuments = (count: number, prefix = ''): string =>
  `{${countTo(count)
    .map((n) => `"${prefix}${n.toString(36)}":{}`)
    .join(',')}}`

/** One document of many small values. */
const manyValues = (mib: number): string =>
  `{"n":1,"list":[${'{"a":1,"b":[true,null]},'.repeat((mib * MIB) / 24)}0]}`

/** One document that is one long text. */
const longText = (mib: number): string =>
  `{"n":1,"text":"${'sea and sand '.repeat((mib * MIB) / 13)}"}`

const schemaOf = (properties: number): unknown => ({
  default_type: 'd',
  document_schemas: {
    d: {
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          countTo(properties).map((n) => [`field_${n}`, { type: 'string' }]),
        ),
      },
    },
  },
})

const lines = (count: number, query: string): string => `${query}\n`.repeat(count)

function expectShort(held: Held, before: Held): void {
  const since = `since the start:\n${held.longest}`
  const { loop, worker } = WORK_MS_MAX
  const turns = held.turnsOver(loop, 'work') - before.turnsOver(loop, 'work')
  expect(turns, `turns over ${loop} ms of work; ${since}`).to.equal(0)
  const slices = held.slicesOver(worker, 'work') - before.slicesOver(worker, 'work')
  expect(slices, `slices of text workers over ${worker} ms of work; ${since}`).to.equal(0)
  const max = WITH_COLLECTIONS_MS_MAX
  for (const over of ['turnsOver', 'slicesOver'] as const) {
    const count = held[over](max, 'cpu') - before[over](max, 'cpu')
    expect(count, `${over} ${max} ms of CPU, collections included`).to.equal(0)
  }
}

const cases: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  getHealth: {
    alive: (client) => expectStatus(client.send('GET', '/healthz'), 200),
  },
  getContract: {
    'the contract': (client) => expectStatus(client.send('GET', '/api/v1/openapi.yaml'), 200),
  },
  getDocs: {
    'the page': (client) => expectStatus(client.send('GET', '/api/v1/docs'), 200),
  },
  createTable: {
    'sixty-four shards': async (client) => {
      await expectStatus(client.send('POST', `${TABLES}/many_shards`, { num_shards: 64 }), 200)
    },
    'a hundred tables': async (client) => {
      for (const n of countTo(100)) {
        await expectStatus(client.send('POST', `${TABLES}/list_${n}`, {}), 200)
      }
    },
    'a body that is too long': async (client) => {
      const description = 'x'.repeat(3 * MIB)
      await expectStatus(client.send('POST', `${TABLES}/long`, { description }), 413)
    },
  },
  getStatus: {
    'of many shards': (client) => expectStatus(client.send('GET', '/api/v1/status'), 200),
  },
  listTables: {
    'many tables': (client) => expectStatus(client.send('GET', TABLES), 200),
  },
  getTable: {
    'of many shards': (client) => expectStatus(client.send('GET', `${TABLES}/many_shards`), 200),
  },
  updateTableSchema: {
    'ten thousand properties': async (client) => {
      await client.createTable('schema', {})
      await client.send('PUT', `${TABLES}/schema/schema`, schemaOf(10_000))
    },
  },
  listIndexes: {
    'of many shards': (client) =>
      expectStatus(client.send('GET', `${TABLES}/many_shards/indexes`), 200),
  },
  createIndex: {
    'over large documents': async (client) => {
      await client.createTable('indexed', {})
      await client.batch('indexed', `{"inserts":{"values":${manyValues(DOCUMENT_MIB)}}}`)
      await expectStatus(
        client.send('POST', `${TABLES}/indexed/indexes/more`, { type: 'full_text' }),
        201,
      )
    },
  },
  getIndex: {
    'while it is built': (client) =>
      expectStatus(client.send('GET', `${TABLES}/indexed/indexes/more`), 200),
  },
  dropIndex: {
    'while it is built': (client) =>
      expectStatus(client.send('DELETE', `${TABLES}/indexed/indexes/more`), 204),
  },
  batchWrite: {
    'a hundred thousand documents': async (client) => {
      await client.createTable('tiny', {})
      const body = `{"inserts":${tinyDocuments(100_000)}}`
      await expectStatus(client.send('POST', `${TABLES}/tiny/batch`, body), 201)
    },
    'more documents than there may be': async (client) => {
      const body = `{"inserts":${tinyDocuments(1_000_000)}}`
      await expectStatus(client.send('POST', `${TABLES}/tiny/batch`, body), 400)
    },
    'a hundred thousand deletes': async (client) => {
      const deletes = countTo(100_000).map((n) => n.toString(36))
      await expectStatus(client.send('POST', `${TABLES}/tiny/batch`, { deletes }), 201)
    },
    'sixty MiB in seven documents': async (client) => {
      await client.createTable('large', { num_shards: 4 })
      const inserts = countTo(6).map((n) => `"text${n}":${longText(DOCUMENT_MIB)}`)
      const body = `{"inserts":{"values":${manyValues(DOCUMENT_MIB)},${inserts.join(',')}}}`
      await expectStatus(client.send('POST', `${TABLES}/large/batch`, body), 201)
    },
    'sixty MiB of small documents with white space': async (client) => {
      await client.createTable('spaced', {})
      const document = `{ "title" : "the sea" , "body" : "${'x'.repeat(960)}" }`
      const inserts = countTo(60_000).map((n) => `"k${n}" : ${document}`)
      const body = `{ "inserts" : { ${inserts.join(' , ')} } }`
      await expectStatus(client.send('POST', `${TABLES}/spaced/batch`, body), 201)
    },
    'a retried batch of many MiB': async (client) => {
      const headers = { 'idempotency-key': 'slices' }
      const body = `{"inserts":{"twice":${longText(DOCUMENT_MIB)}}}`
      const asked = `${TABLES}/large/batch`
      await expectStatus(client.send('POST', asked, body, headers), 201)
      await expectStatus(client.send('POST', asked, body, headers), 201)
    },
    'nothing but white space, compressed': async (client) => {
      const body = gzipSync(Buffer.alloc(60 * MIB, ' '))
      const { status } = await post(client, `${TABLES}/large/batch`, body, 'gzip')
      expect(status).to.equal(400)
    },
  },
  crossTableBatch: {
    'a hundred thousand documents in two tables': async (client) => {
      const [one, other] = ['a', 'b'].map((prefix) => tinyDocuments(50_000, prefix))
      const tables = `{"tiny":{"inserts":${one}},"many_shards":{"inserts":${other}}}`
      const body = `{"tables":${tables}}`
      await expectStatus(client.send('POST', '/api/v1/batch', body), 201)
    },
  },
  commitTransaction: {
    'fifty thousand claims and as many documents': async (client) => {
      const readSet = countTo(50_000).map((n) => ({ table: 'tiny', key: `c${n}`, version: '0' }))
      const tables = `{"tiny":{"inserts":${tinyDocuments(50_000, 'c')}}}`
      const body = `{"read_set":${JSON.stringify(readSet)},"tables":${tables}}`
      await expectStatus(client.send('POST', '/api/v1/transactions/commit', body), 200)
    },
  },
  mergeTable: {
    'ten thousand records': async (client) => {
      await client.createTable('merged', {})
      const text = 'x'.repeat(3000)
      const records = Object.fromEntries(countTo(10_000).map((n) => [`k${n}`, { n, text }]))
      await expectStatus(client.send('POST', `${TABLES}/merged/merge`, { records }), 200)
      await expectStatus(client.send('POST', `${TABLES}/merged/merge`, { records }), 200)
    },
    'large documents that are written in another way': async (client) => {
      await client.createTable('merged_large', {})
      const [one, other] = ['{"a":1,', '{ "a" : 1.0,'].map(
        (start) => `{"records":{"k":${start}${manyValues(DOCUMENT_MIB).slice(1)}}}`,
      )
      const asked = `${TABLES}/merged_large/merge`
      await expectStatus(client.send('POST', asked, one), 200)
      await expectStatus(client.send('POST', asked, other), 200)
    },
  },
  searchTable: {
    'a pasted text': async (client) => {
      const typed = encodeURIComponent('sea chart of the north '.repeat(400))
      await expectStatus(client.send('GET', `${TABLES}/spaced/query?q=${typed}`), 200)
    },
  },
  queryTable: {
    'ten thousand hits': async (client) => {
      await client.batch('spaced', { inserts: { last: {} }, sync_level: 'full_text' })
      await expectStatus(
        client.send('POST', `${TABLES}/spaced/query`, {
          full_text_search: { query: 'title:sea' },
          limit: 10_000,
        }),
        200,
      )
    },
    'more bytes than a page may have': async (client) => {
      const inserts = `{"eighth":${longText(DOCUMENT_MIB)}}`
      await client.batch('large', `{"inserts":${inserts},"sync_level":"full_text"}`)
      await expectStatus(client.send('POST', `${TABLES}/large/query`, { limit: 10_000 }), 400)
    },
    'a hundred queries over large documents': async (client) => {
      const answer = await post(client, `${TABLES}/large/query`, lines(100, '{"limit":2}'))
      expect(answer.status).to.equal(200)
      expect(await bytesOf(answer)).to.be.above(100 * DOCUMENT_MIB * MIB)
    },
    'an aggregation of sixty thousand terms in eight shards': async (client) => {
      await client.createTable('facets', { num_shards: 8 })
      for (const part of countTo(30)) {
        const inserts = countTo(2000).map((n) => [`${n}/${part}`, { id: `term ${part} ${n}` }])
        const body = { inserts: Object.fromEntries(inserts), sync_level: 'full_text' }
        await client.batch('facets', body)
      }
      const ids = { type: 'terms', field: 'id.keyword', size: 65_536 }
      const query = { limit: 0, aggregations: { ids } }
      await expectStatus(client.send('POST', `${TABLES}/facets/query`, query), 200)
    },
    'a projection of large documents': (client) =>
      expectStatus(
        client.send('POST', `${TABLES}/large/query`, { limit: 7, fields: ['n', 'list.a'] }),
        200,
      ),
    'a body of a hundred long queries': async (client) => {
      const ids = countTo(4_000).map((n) => `a key that is not there ${n}`)
      const query = JSON.stringify({ filter_query: { ids }, limit: 1 })
      await expectStatus(client.send('POST', `${TABLES}/spaced/query`, lines(90, query)), 200)
    },
  },
  queryGlobal: {
    'ten thousand hits, which are keys': (client) =>
      expectStatus(
        client.send('POST', '/api/v1/query', {
          table: 'spaced',
          limit: 10_000,
          fields: ['title'],
        }),
        200,
      ),
  },
  scanTable: {
    'every key of a large table': (client) =>
      expectStatus(client.send('POST', `${TABLES}/tiny/lookup`, {}), 200),
    'every document': (client) =>
      expectStatus(client.send('POST', `${TABLES}/spaced/lookup`, { fields: ['title'] }), 200),
    'large documents with a filter': (client) =>
      expectStatus(
        client.send('POST', `${TABLES}/large/lookup`, {
          fields: ['n'],
          filter_query: { term: 'sand', field: 'text' },
        }),
        200,
      ),
  },
  lookupDocument: {
    'a large document': (client) =>
      expectStatus(client.send('GET', `${TABLES}/large/lookup/values`), 200),
    'a part of a large document': (client) =>
      expectStatus(client.send('GET', `${TABLES}/large/lookup/values?fields=list.a`), 200),
  },
  dropTable: {
    'of many shards': (client) => expectStatus(client.send('DELETE', `${TABLES}/many_shards`), 204),
  },
}

describe('the rule of slices in the store', function () {
  this.timeout(300_000)

  let folder: string
  let store: StoreProcess
  let watch: ProcessWatch

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-slices-'))
    store = await StoreProcess.start({ dataDir: path.join(folder, 'data') })
    watch = new ProcessWatch(store)
    // The first request of each kind has its code compiled; that is once, and short.
    using client = new StoreClient(store.api)
    await client.createTable('first', {})
    await client.send('PUT', `${TABLES}/first/schema`, schemaOf(10))
    await client.batch('first', `{"inserts":{"values":${manyValues(DOCUMENT_MIB)}}}`)
    await expectStatus(client.send('GET', `${TABLES}/first/lookup/values?fields=list.a`), 200)
  })

  after(async () => {
    await store.kill()
    await rm(folder, { recursive: true })
  })

  it('is checked for every operation of the contract', () => {
    const operations = loadContract('store.v1').operations.map(({ operationId }) => operationId)

    expect(Object.keys(cases).toSorted()).to.deep.equal(operations.toSorted())
  })

  for (const [operation, limits] of Object.entries(cases)) {
    for (const [name, drive] of Object.entries(limits)) {
      it(`holds for ${operation}: ${name}`, async () => {
        // Connections of a case before may have been idle for too long.
        using client = new StoreClient(store.api)
        const heldBefore = await watch.held()
        const bytesBefore = store.residentBytes()
        watch.forgetPeak()

        await drive(client)

        expectShort(await watch.held(), heldBefore)
        expect((watch.peakBytes() - bytesBefore) / MIB, 'MiB more than before').to.be.below(
          PEAK_BYTES_MAX / MIB,
        )
      })
    }
  }
})
