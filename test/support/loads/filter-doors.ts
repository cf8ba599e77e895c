// One filter through every operation of the API that takes one, over the documents of filter-world.ts: in a table with
// a full-text index and in one without. Twins of the documents are there first, are found, and are deleted then.

import type { StoreClient } from '../servers/store-client.ts'
import {
  FILTERED_DOCUMENTS,
  FILTERED_SCHEMA_REQUEST,
  type FILTERS,
} from '../worlds/filter-world.ts'

const TABLE = 'filtered'
/** The same without a full-text index: nothing but the documents answers there. */
const BARE = 'bare'
type Entry = readonly [string, Filter]

const DOCUMENTS: readonly Entry[] = Object.entries(FILTERED_DOCUMENTS)
const TWINS = DOCUMENTS.map(([key, document]): Entry => [`b${key}`, document])
const VECTOR = [1, 0]
const AT_ONCE = 16
const LIMIT = 100
/** Fields whose first value, which decides for the table, is not what each document says by itself. */
const DECIDED_BY_THE_TABLE =
  /"(?:mixed|body|word|n|on|at|ip|a|a\.b|items\.n|loose\.n|_all|tags)(?:\.keyword)?"/

/** The keys that pass, or the code of a refusal. */
type Verdict = readonly string[] | string
export type Filter = (typeof FILTERS)[number]

/** What an operation finds among the documents with these keys. */
type Door = (client: StoreClient, filter: Filter, keys: readonly string[]) => Promise<Verdict>

const near = { embeddings: { near: VECTOR }, indexes: ['near'] }

const excluding =
  (table: string, body: object): Door =>
  async (client, filter, keys) => {
    const left = await found(client, table, { ...body, exclusion_query: filter })
    return typeof left === 'string' ? left : keys.filter((key) => !left.includes(key))
  }

const DOORS: Readonly<Record<string, Door>> = {
  'a scan': (client, filter) => scanned(client, TABLE, { filter_query: filter }),
  'a scan with a limit': (client, filter) => scanned(client, TABLE, { filter_query: filter, limit: LIMIT }),
  'a stale scan': (client, filter) => scanned(client, TABLE, { filter_query: filter }, '?consistency=stale'),
  'filter_query of a query': (client, filter) => found(client, TABLE, { filter_query: filter }),
  full_text_search: (client, filter) => found(client, TABLE, { full_text_search: filter }),
  'an order': (client, filter) => found(client, TABLE, { filter_query: filter, order_by: [{ field: '_id' }] }),
  exclusion_query: excluding(TABLE, {}),
  'a search for vectors': (client, filter) => found(client, TABLE, { ...near, filter_query: filter }),
  'an exclusion from vectors': excluding(TABLE, near),
} // prettier-ignore

const BARE_DOORS: Readonly<Record<string, Door>> = {
  'a scan': (client, filter) => scanned(client, BARE, { filter_query: filter }),
  vectors: (client, filter) => found(client, BARE, { ...near, filter_query: filter }),
  'an exclusion from vectors': excluding(BARE, near),
}

/** Numbers of documents, which say less than keys. */
const COUNTS: Readonly<Record<string, (client: StoreClient, filter: Filter) => Promise<unknown>>> = {
  count: async (client, filter) => (await ask(client, TABLE, { filter_query: filter, count: true })).total,
  'a facet': async (client, filter) => {
    const facet = { type: 'stats', field: 'order' }
    const answer = await ask(client, TABLE, { filter_query: filter, limit: 0, aggregations: { facet } })
    return answer.refusal ?? answer.aggregations?.['facet']?.count
  },
} // prettier-ignore

/** The tables behind a client, and what their doors differ in. Each comparison answers the first difference. */
export class FilterDoors {
  readonly #client: StoreClient
  #keys: readonly string[] = []

  constructor(client: StoreClient) {
    this.#client = client
  }

  /** Creates the tables with the documents and their twins. */
  async fill(): Promise<void> {
    const client = this.#client
    const indexes = { near: { type: 'embeddings', external: true, dimension: 2 } }
    const rules = { split_keys: ['a09'], schema: FILTERED_SCHEMA_REQUEST, indexes }
    for (const table of [TABLE, BARE]) {
      await client.succeed('POST', `/api/v1/tables/${table}`, rules)
    }
    await client.succeed('DELETE', `/api/v1/tables/${BARE}/indexes/full_text_index_v0`)
    for (const table of [TABLE, BARE]) {
      // One by one, so that the first document decides the types of fields.
      for (const one of [...DOCUMENTS, ...TWINS].entries()) await this.#write(table, [one])
      // Each document is another one for a moment, so that indexes have replaced what they find.
      await this.#write(
        table,
        DOCUMENTS.map(([key], i) => [i, [key, DOCUMENTS.at(i - 1)?.[1] ?? {}] as const]),
      )
      await this.#write(table, [...DOCUMENTS.entries()])
    }
    this.#keys = [...DOCUMENTS, ...TWINS].map(([key]) => key).toSorted()
  }

  async deleteTwins(): Promise<void> {
    const deletes = TWINS.map(([key]) => key)
    for (const table of [TABLE, BARE]) {
      const body = JSON.stringify({ deletes, sync_level: 'full_index' })
      await this.#client.succeed('POST', `/api/v1/tables/${table}/batch`, body)
    }
    this.#keys = DOCUMENTS.map(([key]) => key)
  }

  /** Deleted documents come back. */
  async writeTwins(): Promise<void> {
    for (const table of [TABLE, BARE]) await this.#write(table, [...TWINS.entries()])
    this.#keys = [...DOCUMENTS, ...TWINS].map(([key]) => key).toSorted()
  }

  async #write(table: string, documents: readonly (readonly [number, Entry])[]): Promise<void> {
    const inserts = Object.fromEntries(
      documents.map(([order, [key, document]]) => {
        const vector = [Math.cos(order), Math.sin(order)]
        return [key, { ...document, order, _embeddings: { near: vector } }]
      }),
    )
    const body = JSON.stringify({ inserts, sync_level: 'full_index' })
    await this.#client.succeed('POST', `/api/v1/tables/${table}/batch`, body)
  }

  /** Through every door of the table with a full-text index. */
  differenceOfDoors(filters: readonly Filter[]): Promise<string | undefined> {
    return this.#compare(DOORS, filters)
  }

  differenceOfCounts(filters: readonly Filter[]): Promise<string | undefined> {
    return this.#atOnce(filters, async (filter) => {
      const keys = await found(this.#client, TABLE, { filter_query: filter })
      if (typeof keys === 'string') return undefined
      for (const [name, count] of Object.entries(COUNTS)) {
        const counted = await count(this.#client, filter)
        if (counted !== keys.length) return `${name}: ${shown({ filter, keys, counted })}`
      }
      return undefined
    })
  }

  /** Through the doors of the table that has no full-text index. */
  differenceOfBareDoors(filters: readonly Filter[]): Promise<string | undefined> {
    return this.#compare(BARE_DOORS, filters)
  }

  /** Between both tables, for filters on fields whose type every document shows. */
  differenceOfTables(filters: readonly Filter[]): Promise<string | undefined> {
    return this.#atOnce(filters.filter(isOfUniformFields), async (filter) => {
      const answer = await scanned(this.#client, TABLE, { filter_query: filter })
      // Where no index knows the type of a field, each document has its own: nothing is refused for it.
      if (answer === 'INVALID_ARGUMENT') return undefined
      const own = await scanned(this.#client, BARE, { filter_query: filter })
      return shown(own) === shown(answer) ? undefined : shown({ filter, answer, own })
    })
  }

  #compare(
    doors: Readonly<Record<string, Door>>,
    filters: readonly Filter[],
  ): Promise<string | undefined> {
    return this.#atOnce(filters, async (filter) => {
      const answers = await Promise.all(
        Object.entries(doors).map(async ([name, door]) => {
          return [name, await door(this.#client, filter, this.#keys)] as const
        }),
      )
      const [[, first] = []] = answers
      const other = answers.find(([, answer]) => shown(answer) !== shown(first))
      return other && `${other[0]}: ${shown({ filter, first, other: other[1] })}`
    })
  }

  async #atOnce(
    filters: readonly Filter[],
    look: (filter: Filter) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    for (let at = 0; at < filters.length; at += AT_ONCE) {
      const differences = await Promise.all(filters.slice(at, at + AT_ONCE).map(look))
      const difference = differences.find((one) => one !== undefined)
      if (difference !== undefined) return difference
    }
    return undefined
  }
}

/** What searches all fields meets those of which documents disagree. */
function isOfUniformFields(filter: Filter): boolean {
  const text = JSON.stringify(filter)
  const isOfOneField = text.includes('"field"') && !('multi_match' in filter)
  return isOfOneField && !DECIDED_BY_THE_TABLE.test(text)
}

const shown = (value: unknown): string => JSON.stringify(value)

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
  const { refusal, keys } = await ask(client, table, { limit: LIMIT, ...body })
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
