// What requests hold is what the budget of requests counts: measured after a collection, for every operation that takes a
// body, and for readers that stand still. A new operation with a body has no row below, and fails until it has one.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { ApiMetrics } from '../../node/api/metrics.ts'
import type { ClusterService } from '../../node/steering/cluster-service.ts'
import type { NodeSettings } from '../../node/steering/node-settings.ts'
import type { StoreService } from '../../node/store/store-service.ts'
import { loadContract } from '../../door/contract.ts'
import { countTo } from '../support/loads/load.ts'
import { RawClient, head } from '../support/servers/raw-client.ts'
import { until } from '../support/until.ts'
import { prepareBooks, startApi } from '../contract/api-harness.ts'

const MIB = 2 ** 20
const REQUESTS = 8
/** What a request takes whatever it holds: its connection, its promises, the client of the test in this process. */
const REQUEST_BYTES = 160 * 1024
/** The same for a reader, whose client has the first pages in its buffers. */
const READER_BYTES = 320 * 1024
/** What the budget may be behind what is held: it counts by constants. */
const TOLERANCE = 1.15

const text = (bytes: number): string => 'x'.repeat(bytes)
const many = <Value>(count: number, make: (index: number) => Value): Value[] =>
  countTo(count).map(make)
const members = <Value>(count: number, make: (index: number) => Value): Record<string, Value> =>
  Object.fromEntries(many(count, (index) => [`m${index}`, make(index)]))
const terms = many(900, (index) => ({ term: `t${index}`, field: `f${index}` }))

/** For each operation that takes a body, the body that becomes most in memory. */
const BODIES: Readonly<Record<string, readonly object[]>> = {
  batchWrite: [
    { inserts: members(8000, () => ({})) },
    { inserts: members(4, () => ({ text: text(MIB / 2) })) },
    { deletes: many(8000, (index) => `${index}`) },
    {
      transforms: many(2000, (index) => ({
        key: `${index}`,
        operations: [{ op: '$inc', path: 'n', value: 1 }],
      })),
    },
  ],
  crossTableBatch: [{ tables: { books: { inserts: members(8000, () => ({})) } } }],
  commitTransaction: [
    {
      read_set: many(4000, (index) => ({ table: 'books', key: `${index}`, version: '1' })),
      tables: { books: { inserts: members(4000, () => ({})) } },
    },
  ],
  mergeTable: [{ records: members(8000, () => ({})) }],
  queryTable: [
    { full_text_search: { disjuncts: terms } },
    { fields: many(1000, (index) => `f${index}.${text(90)}`) },
    {
      full_text_search: { match: 'a', field: 'b' },
      embeddings: { v: many(4096, (index) => index / 7) },
    },
  ],
  queryGlobal: [{ table: 'books', full_text_search: { disjuncts: terms } }],
  scanTable: [
    { fields: many(1000, (index) => `f${index}.${text(90)}`) },
    { filter_query: { disjuncts: terms } },
  ],
  createTable: [
    {
      schema: {
        document_schemas: members(8, () => ({
          schema: { properties: members(500, () => ({ type: 'string' })) },
        })),
      },
    },
  ],
  updateTableSchema: [
    {
      document_schemas: members(8, () => ({
        schema: { properties: members(500, () => ({ type: 'string' })) },
      })),
    },
  ],
  createIndex: [{ type: 'full_text', description: text(1000) }],
  drainNode: [{ operation_id: text(128) }],
  undrainNode: [{ operation_id: text(128) }],
  decommissionNode: [{ operation_id: text(128) }],
  handOverLeaders: [{ operation_id: text(128), hold_ms: 1000 }],
  collectLeftovers: [{ shards: many(1000, (index) => index.toString(16).padStart(16, '0')) }],
  recoverCluster: [{ without: many(1000, (index) => index.toString(16).padStart(32, '0')) }],
  reloadNode: [{ log_level: 'info' }],
  moveReplica: [{ from: 'a', to: 'b' }],
  transferLeader: [{ to: 'a' }],
}

/** Answers every call with a promise that nobody keeps, and counts the calls. */
class Parking {
  parked = 0
  readonly #park = { get: () => () => this.#parkOne() }
  readonly service = new Proxy<StoreService>(Object.create(null), this.#park)
  readonly cluster = new Proxy<ClusterService>(Object.create(null), this.#park)
  readonly settings = new Proxy<NodeSettings>(Object.create(null), this.#park)

  #parkOne(): Promise<never> {
    this.parked += 1
    return new Promise(() => undefined)
  }
}

function buildCollect(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

/** What this process holds, with what an earlier collection left to finalizers. */
async function heldBytes(collect: () => void): Promise<number> {
  for (const _ of countTo(4)) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function charged(metrics: ApiMetrics): Promise<number> {
  return Number(/^quarry_request_memory_bytes (\d+)$/m.exec(await metrics.text())?.[1])
}

describe('what requests hold', () => {
  const collect = buildCollect()
  const { operations } = loadContract('store.v1')
  const withBody = operations.filter(({ body }) => body !== 'none')

  it('has bodies here for every operation that takes one', () => {
    const names = withBody.map(({ operationId }) => operationId).toSorted()

    expect(Object.keys(BODIES).toSorted()).to.deep.equal(names)
  })

  for (const { operationId, template, method } of withBody) {
    for (const [at, body] of (BODIES[operationId] ?? []).entries()) {
      it(`is charged while ${operationId} is carried out (body ${at + 1})`, async () => {
        const parking = new Parking()
        const metrics = new ApiMetrics()
        const { service, cluster, settings } = parking
        await using api = await startApi({ metrics, service, settings, clusterOf: () => cluster })
        const path = template
          .replace('{tableName}', 'books')
          .replace(/\{\w+\}/g, '0123456789abcdef')
        const bytes = Buffer.from(JSON.stringify(body))
        const raws = await Promise.all(countTo(REQUESTS).map(() => RawClient.open(api.url)))
        const before = await heldBytes(collect)

        const start = head(method, path, {
          'Content-Type': 'application/json',
          'Content-Length': bytes.length,
        })
        for (const raw of raws) raw.socket.write(start)
        for (const raw of raws) raw.socket.write(bytes)
        await until(
          async () => parking.parked === REQUESTS || raws.some(({ received }) => received !== ''),
        )

        expect(raws.map(({ received }) => received).join('')).to.equal('')
        const grown = (await heldBytes(collect)) - before
        const counted = await charged(metrics)
        expect(counted, 'bytes that the budget counts').to.be.at.least(
          (grown - REQUESTS * REQUEST_BYTES) / TOLERANCE,
        )
        for (const raw of raws) await raw.close()
      })
    }
  }

  /** For each answer that is made while it is read: what is stored first, and what is asked for. */
  const READ: Readonly<Record<string, { readonly inserts: object; readonly ask: object }>> = {
    'scans of long documents': {
      inserts: members(6, (index) => ({ text: text((index + 2) * MIB) })),
      ask: { fields: ['text'] },
    },
    'scans of short documents': {
      inserts: members(20_000, (index) => ({ n: index, text: text(400) })),
      ask: { fields: ['n', 'text'] },
    },
  }

  for (const [what, { inserts, ask }] of Object.entries(READ)) {
    it(`is charged between the pages of ${what}`, async () => {
      const metrics = new ApiMetrics()
      await using api = await startApi({ metrics })
      await prepareBooks(api)
      for (const some of chunksOf(Object.entries(inserts), 2000)) {
        const body = JSON.stringify({ inserts: Object.fromEntries(some) })
        await api.send({ method: 'POST', path: '/api/v1/tables/books/batch', body })
      }
      const bytes = JSON.stringify(ask)
      const start = head('POST', '/api/v1/tables/books/lookup', {
        'Content-Type': 'application/json',
        'Content-Length': bytes.length,
      })
      const raws = await Promise.all(countTo(REQUESTS).map(() => RawClient.open(api.url)))
      for (const raw of raws) raw.socket.pause()
      const before = await heldBytes(collect)

      for (const raw of raws) raw.socket.write(start + bytes)
      await standsStill(() => charged(metrics))

      const grown = (await heldBytes(collect)) - before
      const counted = await charged(metrics)
      expect(counted).to.be.greaterThan(0)
      expect(counted, 'bytes that the budget counts').to.be.at.least(
        (grown - REQUESTS * READER_BYTES) / TOLERANCE,
      )
      for (const raw of raws) await raw.close()
    })
  }
})

function chunksOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return many(Math.ceil(items.length / size), (at) => items.slice(at * size, (at + 1) * size))
}

/** Resolves when nothing has changed for many turns of the event loop. */
async function standsStill(look: () => Promise<number>): Promise<void> {
  let same = 0
  for (let last = -1; same < 200;) {
    const now = await look()
    same = now === last && now > 0 ? same + 1 : 0
    last = now
    await new Promise((resolve) => setImmediate(resolve))
  }
}
