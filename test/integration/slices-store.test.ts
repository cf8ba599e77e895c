// The rule of slices: whatever a client asks for within the limits, no turn of the event loop is
// long, and memory stays within bounds. Each operation of the contract is driven at its limits.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import { countTo } from '../support/loads/load.ts'
import { ProcessWatch, type Held } from '../support/processes/process-watch.ts'
import { expectShortSlices, type Overrun, type SliceBounds } from '../support/slices/slice-rule.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { VECTOR_QUERIES } from '../support/slices/vector-queries-at-limits.ts'
import { StoreProcess } from '../support/processes/store-process.ts'

const MIB = 1024 * 1024
/** Memory beyond what the process had: several times the largest body, and the garbage of it. */
const PEAK_BYTES_MAX = 1024 * MIB

const TABLES = '/api/v1/tables'
const CLUSTER = '/api/v1/cluster'
const NO_SHARD = '0'.repeat(16)
const DOCUMENT_MIB = 9

interface Answered {
  readonly status: number
  readonly text: string
}

/**
 * Drives one operation at one limit, and checks what it is answered. What cannot be made twice takes its name from the
 * attempt. Large bodies are made first: the store closes a connection that is idle for long.
 */
type Case = (client: StoreClient, attempt: number) => Promise<void>

async function expectStatus(answer: Promise<Answered>, status: number): Promise<void> {
  const { status: found, text } = await answer
  expect(found, text.slice(0, 500)).to.equal(status)
}

/** A second attempt finds the table of the first. */
async function prepareTable(
  client: StoreClient,
  table: string,
  request: object = {},
): Promise<void> {
  const { status } = await client.send('POST', `${TABLES}/${table}`, request)
  expect(status).to.be.oneOf([201, 409])
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

/** The bytes of an answer that may be longer than the longest string. */
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

function overrunsOf(held: Held, before: Held, bounds: SliceBounds): readonly Overrun[] {
  const { loop, worker, withCollections } = bounds
  const measured = [
    ['turns', 'turnsOver', loop, 'work'],
    ['slices of text workers', 'slicesOver', worker, 'work'],
    ['turns with collections', 'turnsOver', withCollections, 'cpu'],
    ['slices with collections', 'slicesOver', withCollections, 'cpu'],
  ] as const
  return measured.flatMap(([what, over, ms, measure]) => {
    const count = held[over](ms, measure) - before[over](ms, measure)
    return count === 0 ? [] : [`${count} ${what} over ${Math.round(ms)} ms of ${measure}`]
  })
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
    'sixty-four shards': async (client, attempt) => {
      const table = attempt === 1 ? 'many_shards' : `many_shards_${attempt}`
      await expectStatus(client.send('POST', `${TABLES}/${table}`, { num_shards: 64 }), 201)
    },
    'a hundred tables': async (client, attempt) => {
      for (const n of countTo(100)) {
        await expectStatus(client.send('POST', `${TABLES}/list_${attempt}_${n}`, {}), 201)
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
  listNodes: {
    'of many shards': (client) => expectStatus(client.send('GET', `${CLUSTER}/nodes`), 200),
  },
  listShards: {
    'a thousand shards': (client) =>
      expectStatus(client.send('GET', `${CLUSTER}/shards?limit=1000`), 200),
  },
  // In swarm mode they are refused before anything is looked at.
  drainNode: {
    'of one node': (client) => expectStatus(client.send('POST', `${CLUSTER}/nodes/a/drain`), 400),
  },
  undrainNode: {
    'of one node': (client) => expectStatus(client.send('POST', `${CLUSTER}/nodes/a/undrain`), 400),
  },
  decommissionNode: {
    'of one node': (client) =>
      expectStatus(client.send('POST', `${CLUSTER}/nodes/a/decommission`), 400),
  },
  handOverLeaders: {
    'of one node': (client) =>
      expectStatus(client.send('POST', `${CLUSTER}/nodes/a/hand-over`, {}), 400),
  },
  forgetNode: {
    'of one node': (client) => expectStatus(client.send('DELETE', `${CLUSTER}/nodes/a`), 400),
  },
  collectLeftovers: {
    'a thousand shards': async (client) => {
      const shards = Array.from({ length: 1000 }, () => NO_SHARD)
      await expectStatus(client.send('POST', `${CLUSTER}/nodes/a/collect`, { shards }), 400)
    },
  },
  recoverCluster: {
    'many nodes to leave out': async (client) => {
      const without = Array.from({ length: 1000 }, (_, at) => `node-${at}`)
      await expectStatus(client.send('POST', `${CLUSTER}/recover`, { without }), 400)
    },
  },
  reloadNode: {
    'of a store': (client) => expectStatus(client.send('POST', '/api/v1/node/reload', {}), 200),
  },
  moveReplica: {
    'a body that is too long': async (client) => {
      const body = { from: 'a', to: 'x'.repeat(2 * MIB) }
      await expectStatus(client.send('POST', `${CLUSTER}/shards/${NO_SHARD}/move`, body), 413)
    },
  },
  transferLeader: {
    'a body that is too long': async (client) => {
      const body = { to: 'x'.repeat(2 * MIB) }
      const asked = `${CLUSTER}/shards/${NO_SHARD}/transfer-leader`
      await expectStatus(client.send('POST', asked, body), 413)
    },
  },
  listTables: {
    'many tables': (client) => expectStatus(client.send('GET', TABLES), 200),
  },
  getTable: {
    'of many shards': (client) => expectStatus(client.send('GET', `${TABLES}/many_shards`), 200),
  },
  updateTableSchema: {
    'ten thousand properties': async (client) => {
      await prepareTable(client, 'schema')
      await client.send('PUT', `${TABLES}/schema/schema`, schemaOf(10_000))
    },
  },
  listIndexes: {
    'of many shards': (client) =>
      expectStatus(client.send('GET', `${TABLES}/many_shards/indexes`), 200),
  },
  createIndex: {
    'over large documents': async (client, attempt) => {
      await prepareTable(client, 'indexed')
      if (attempt > 1) await client.send('DELETE', `${TABLES}/indexed/indexes/more`)
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
    'while it is built': async (client, attempt) => {
      const index = `${TABLES}/indexed/indexes/more`
      if (attempt > 1) await expectStatus(client.send('POST', index, { type: 'full_text' }), 201)
      await expectStatus(client.send('DELETE', index), 204)
    },
  },
  batchWrite: {
    'a hundred thousand documents': async (client) => {
      const body = `{"inserts":${tinyDocuments(100_000)}}`
      await prepareTable(client, 'tiny')
      await expectStatus(client.send('POST', `${TABLES}/tiny/batch`, body), 201)
    },
    'more documents than there may be': async (client) => {
      const body = `{"inserts":${tinyDocuments(1_000_000)}}`
      await expectStatus(client.send('POST', `${TABLES}/tiny/batch`, body), 400)
    },
    'a hundred thousand deletes': async (client, attempt) => {
      if (attempt > 1) await client.batch('tiny', `{"inserts":${tinyDocuments(100_000)}}`)
      const deletes = countTo(100_000).map((n) => n.toString(36))
      await expectStatus(client.send('POST', `${TABLES}/tiny/batch`, { deletes }), 201)
    },
    'sixty MiB in seven documents': async (client) => {
      const inserts = countTo(6).map((n) => `"text${n}":${longText(DOCUMENT_MIB)}`)
      const body = `{"inserts":{"values":${manyValues(DOCUMENT_MIB)},${inserts.join(',')}}}`
      await prepareTable(client, 'large', { num_shards: 4 })
      await expectStatus(client.send('POST', `${TABLES}/large/batch`, body), 201)
    },
    'sixty MiB of small documents with white space': async (client) => {
      const document = `{ "title" : "the sea" , "body" : "${'x'.repeat(960)}" }`
      const inserts = countTo(60_000).map((n) => `"k${n}" : ${document}`)
      const body = `{ "inserts" : { ${inserts.join(' , ')} } }`
      await prepareTable(client, 'spaced')
      await expectStatus(client.send('POST', `${TABLES}/spaced/batch`, body), 201)
    },
    'a retried batch of many MiB': async (client, attempt) => {
      const headers = { 'idempotency-key': `slices-${attempt}` }
      const body = `{"inserts":{"twice":${longText(DOCUMENT_MIB)}}}`
      const asked = `${TABLES}/large/batch`
      await expectStatus(client.send('POST', asked, body, headers), 201)
      await expectStatus(client.send('POST', asked, body, headers), 201)
    },
    'many operations on one wide document (p01)': async (client) => {
      const members = countTo(200_000).map((n) => `"k${n}":${n}`)
      await prepareTable(client, 'wide')
      await client.batch('wide', `{"inserts":{"w":{${members.join(',')}}}}`)
      const asked = `${TABLES}/wide/batch`
      const operations = countTo(200).map((n) => ({ op: '$set', path: `n${n}`, value: 1 }))
      const one = { transforms: [{ key: 'w', operations }] }
      await expectStatus(client.send('POST', asked, one), 201)
      const many = countTo(50).map((value) => ({
        key: 'w',
        operations: [{ op: '$set', path: 'm', value }],
      }))
      await expectStatus(client.send('POST', asked, { transforms: many }), 201)
    },
    'the deletion of many large documents (p02)': async (client, attempt) => {
      const table = `deleted_${attempt}`
      await client.createTable(table, {})
      const index = `${TABLES}/${table}/indexes/full_text_index_v0`
      await expectStatus(client.send('DELETE', index), 204)
      for (const part of countTo(5)) {
        const inserts = countTo(6).map((n) => `"${part}/${n}":${longText(DOCUMENT_MIB)}`)
        await client.batch(table, `{"inserts":{${inserts.join(',')}}}`)
      }
      const deletes = countTo(5).flatMap((part) => countTo(6).map((n) => `${part}/${n}`))
      await expectStatus(client.send('POST', `${TABLES}/${table}/batch`, { deletes }), 201)
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
    'fifty thousand claims and as many documents': async (client, attempt) => {
      const table = `claimed_${attempt}`
      await client.createTable(table, {})
      const readSet = countTo(50_000).map((n) => ({ table, key: `c${n}`, version: '0' }))
      const tables = `{"${table}":{"inserts":${tinyDocuments(50_000, 'c')}}}`
      const body = `{"read_set":${JSON.stringify(readSet)},"tables":${tables}}`
      await expectStatus(client.send('POST', '/api/v1/transactions/commit', body), 200)
    },
  },
  mergeTable: {
    'ten thousand records': async (client, attempt) => {
      const asked = `${TABLES}/merged_${attempt}/merge`
      await client.createTable(`merged_${attempt}`, {})
      const text = 'x'.repeat(3000)
      const records = Object.fromEntries(countTo(10_000).map((n) => [`k${n}`, { n, text }]))
      await expectStatus(client.send('POST', asked, { records }), 200)
      await expectStatus(client.send('POST', asked, { records }), 200)
    },
    'large documents that are written in another way': async (client, attempt) => {
      await client.createTable(`merged_large_${attempt}`, {})
      const [one, other] = ['{"a":1,', '{ "a" : 1.0,'].map(
        (start) => `{"records":{"k":${start}${manyValues(DOCUMENT_MIB).slice(1)}}}`,
      )
      const asked = `${TABLES}/merged_large_${attempt}/merge`
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
    ...VECTOR_QUERIES,
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
      await prepareTable(client, 'facets', { num_shards: 8 })
      for (const part of countTo(30)) {
        const inserts = countTo(2000).map((n) => [
          `${n}/${part}`,
          { id: `term ${part} ${n}`, group: `${part % 12}` },
        ])
        const body = { inserts: Object.fromEntries(inserts), sync_level: 'full_text' }
        await client.batch('facets', body)
      }
      const ids = { type: 'terms', field: 'id.keyword', size: 65_536 }
      const query = { limit: 0, aggregations: { ids } }
      await expectStatus(client.send('POST', `${TABLES}/facets/query`, query), 200)
    },
    'the same terms within twelve others': async (client) => {
      const ids = { type: 'terms', field: 'id.keyword', size: 65_536 }
      const sub = { type: 'terms', field: 'group.keyword', sub_aggregations: { ids } }
      const query = { limit: 0, aggregations: { groups: { ...sub, size: 12 } } }
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
    'of many shards': async (client, attempt) => {
      if (attempt > 1) await client.createTable('many_shards', { num_shards: 64 })
      await expectStatus(client.send('DELETE', `${TABLES}/many_shards`), 204)
    },
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
      it(`holds for ${operation}: ${name}`, () =>
        expectShortSlices(async (attempt, boundsNow) => {
          // Connections of a case before may have been idle for too long.
          using client = new StoreClient(store.api)
          const heldBefore = await watch.held()
          const bytesBefore = store.residentBytes()
          watch.forgetPeak()

          await drive(client, attempt)

          expect((watch.peakBytes() - bytesBefore) / MIB, 'MiB more than before').to.be.below(
            PEAK_BYTES_MAX / MIB,
          )
          const held = await watch.held()
          const overruns = overrunsOf(held, heldBefore, boundsNow())
          return overruns.length === 0 ? [] : [...overruns, `longest so far:\n${held.longest}`]
        }))
    }
  }
})
