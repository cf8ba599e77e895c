// One filter, one answer: every kind of filter, on fields of every kind, through every operation that takes one.

import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import {
  FILTERED_DOCUMENTS,
  FILTERED_SCHEMA_REQUEST,
  FILTERS,
} from '../support/worlds/filter-world.ts'

const TABLE = 'filtered'
/** The same without a full-text index: nothing but the documents answers there. */
const BARE = 'bare'
const KEYS = Object.keys(FILTERED_DOCUMENTS)
const VECTOR = [1, 0]
const AT_ONCE = 16
/** Fields whose first value, which decides for the table, is not what each document says by itself. */
const DECIDED_BY_THE_TABLE =
  /"(?:mixed|body|word|n|on|at|ip|a|a\.b|items\.n|loose\.n|_all|tags)(?:\.keyword)?"/

/** The keys that pass, or the code of a refusal. */
type Verdict = readonly string[] | string
type Filter = (typeof FILTERS)[number]

/** What an operation finds. */
type Door = (client: StoreClient, filter: Filter) => Promise<Verdict>

const near = { embeddings: { near: VECTOR }, indexes: ['near'] }

const DOORS: Readonly<Record<string, Door>> = {
  'a scan': (client, filter) => scanned(client, TABLE, { filter_query: filter }),
  'a stale scan': (client, filter) => scanned(client, TABLE, { filter_query: filter }, '?consistency=stale'),
  'filter_query of a query': (client, filter) => found(client, TABLE, { filter_query: filter }),
  'full_text_search': (client, filter) => found(client, TABLE, { full_text_search: filter }),
  'an order': (client, filter) => found(client, TABLE, { filter_query: filter, order_by: [{ field: '_id' }] }),
  'exclusion_query': async (client, filter) => {
    const left = await found(client, TABLE, { exclusion_query: filter })
    return typeof left === 'string' ? left : KEYS.filter((key) => !left.includes(key))
  },
  'a search for vectors': (client, filter) => found(client, TABLE, { ...near, filter_query: filter }),
  'an exclusion from vectors': async (client, filter) => {
    const left = await found(client, TABLE, { ...near, exclusion_query: filter })
    return typeof left === 'string' ? left : KEYS.filter((key) => !left.includes(key))
  },
} // prettier-ignore

/** Numbers of documents, which say less than keys. */
const COUNTS: Readonly<Record<string, (client: StoreClient, filter: Filter) => Promise<unknown>>> = {
  count: async (client, filter) => (await ask(client, TABLE, { filter_query: filter, count: true })).total,
  'a facet': async (client, filter) => {
    const facet = { type: 'stats', field: 'order' }
    const answer = await ask(client, TABLE, { filter_query: filter, limit: 0, aggregations: { facet } })
    return answer.refusal ?? answer.aggregations?.['facet']?.count
  },
} // prettier-ignore

/** Filters through every door, wherever the store runs. */
export function describeFilterDoors(place: StorePlace): void {
  describe(`a filter, of ${place.name}`, () => {
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      const indexes = { near: { type: 'embeddings', external: true, dimension: 2 } }
      const rules = { split_keys: ['a09'], schema: FILTERED_SCHEMA_REQUEST, indexes }
      for (const table of [TABLE, BARE]) {
        await client.succeed('POST', `/api/v1/tables/${table}`, rules)
      }
      await client.succeed('DELETE', `/api/v1/tables/${BARE}/indexes/full_text_index_v0`)
      for (const table of [TABLE, BARE]) {
        // One by one, so that the first document decides the types of fields.
        for (const [order, [key, document]] of Object.entries(FILTERED_DOCUMENTS).entries()) {
          const vector = [Math.cos(order), Math.sin(order)]
          const inserts = { [key]: { ...document, order, _embeddings: { near: vector } } }
          const body = JSON.stringify({ inserts, sync_level: 'full_index' })
          await client.succeed('POST', `/api/v1/tables/${table}/batch`, body)
        }
      }
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    async function compare(doors: Readonly<Record<string, Door>>, filters: readonly Filter[]) {
      for (let at = 0; at < filters.length; at += AT_ONCE) {
        const together = filters.slice(at, at + AT_ONCE)
        await Promise.all(
          together.map(async (filter) => {
            const answers = Object.entries(doors).map(
              async ([name, door]) => [name, await door(client, filter)] as const,
            )
            const [[, first] = [], ...others] = await Promise.all(answers)
            for (const [name, answer] of others) {
              expect(answer, `${name}: ${JSON.stringify(filter)}`).to.deep.equal(first)
            }
          }),
        )
      }
    }

    it('finds the same through every door', async () => {
      await compare(DOORS, some(FILTERS, 5))
    }).timeout(0)

    it('counts as many as it finds', async () => {
      for (const filter of some(FILTERS, 31)) {
        const keys = await found(client, TABLE, { filter_query: filter })
        for (const [name, count] of Object.entries(COUNTS)) {
          const expected = typeof keys === 'string' ? undefined : keys.length
          const counted = await count(client, filter)
          if (expected === undefined) continue
          expect(counted, `${name}: ${JSON.stringify(filter)}`).to.equal(expected)
        }
      }
    }).timeout(0)

    it('finds the same in a table without a full-text index, in a scan and among vectors', async () => {
      const bare: Readonly<Record<string, Door>> = {
        'a scan': (one, filter) => scanned(one, BARE, { filter_query: filter }),
        vectors: (one, filter) => found(one, BARE, { ...near, filter_query: filter }),
      }
      await compare(bare, some(FILTERS, 13))

      for (const filter of some(FILTERS.filter(isOfUniformFields), 3)) {
        const answer = await scanned(client, TABLE, { filter_query: filter })
        // Where no index knows the type of a field, each document has its own: nothing is refused for it.
        if (answer === 'INVALID_ARGUMENT') continue
        const own = await scanned(client, BARE, { filter_query: filter })
        expect(own, JSON.stringify(filter)).to.deep.equal(answer)
      }
    }).timeout(0)
  })
}

/** What searches all fields meets those of which documents disagree. */
function isOfUniformFields(filter: Filter): boolean {
  const text = JSON.stringify(filter)
  const isOfOneField = text.includes('"field"') && !('multi_match' in filter)
  return isOfOneField && !DECIDED_BY_THE_TABLE.test(text)
}

/** Every so many of them: document-tester.test.ts compares all. */
function some(filters: readonly Filter[], step: number): readonly Filter[] {
  return filters.filter((_, at) => at % step === 0)
}

async function scanned(
  client: StoreClient,
  table: string,
  body: object,
  search = '',
): Promise<Verdict> {
  const path = `/api/v1/tables/${table}/lookup${search}`
  const { status, text } = await client.send('POST', path, body)
  if (status !== 200) return codeOf(text)
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => String(JSON.parse(line).key)).toSorted()
}

async function found(client: StoreClient, table: string, body: object): Promise<Verdict> {
  const { refusal, keys } = await ask(client, table, { limit: 100, ...body })
  return refusal ?? keys.toSorted()
}

async function ask(client: StoreClient, table: string, body: object) {
  const { status, text } = await client.send(
    'POST',
    `/api/v1/tables/${table}/query`,
    JSON.stringify(body),
  )
  if (status !== 200) return { refusal: codeOf(text), keys: [] }
  const answer = JSON.parse(text).responses?.[0] ?? JSON.parse(text)
  if (answer.error !== undefined) return { refusal: `${answer.error}`, keys: [] }
  const hits: readonly { readonly _id: string }[] = answer.hits?.hits ?? []
  const aggregations: Readonly<Record<string, { readonly count?: number }>> | undefined =
    answer.aggregations
  return { keys: hits.map(({ _id: key }) => key), total: answer.hits?.total, aggregations }
}

function codeOf(text: string): string {
  return String(JSON.parse(text).code)
}
