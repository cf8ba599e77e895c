// What the clients of the soak of slices do: each kind of request that the store answers, side by side.

import type { Random } from '../../lib/random.ts'
import { countTo, FOUR_SHARDS, pick, SHARD_PREFIXES } from '../support/loads/load.ts'
import type { Answer, StoreClient } from '../support/servers/store-client.ts'

const TABLES = '/api/v1/tables'
const MIB = 1024 * 1024
const SINGLE_KEYS = 50_000
const PROSE_KEYS = 30_000
const HEAVY_KEYS = 8
const BATCH_DOCUMENTS = 1000
const WORDS_PER_DOCUMENT = 40
const TAGS_PER_HEAVY_DOCUMENT = 30_000
/** The words of text fields; later words are less frequent. */
const WORDS = countTo(5000).map((n) => `w${(n * 2_654_435_761).toString(36).slice(-5)}${n % 10}`)
const TTL_MS = 3_600_000
const LIFE_MS = 2000

export interface Step {
  /** By which latencies are told apart. */
  readonly kind: string
  readonly send: () => Promise<Answer>
}

/** One client: what it asks next, and how long it rests then. */
export interface MixClient {
  readonly next: (store: StoreClient, random: Random) => Step
  readonly restMs: number
}

export async function prepareTables(store: StoreClient): Promise<void> {
  await store.createTable('single', FOUR_SHARDS)
  await store.createTable('other', FOUR_SHARDS)
  await store.createTable('prose', { ...FOUR_SHARDS, schema: PROSE_SCHEMA })
  await store.createTable('fleeting', { ...FOUR_SHARDS, schema: { ttl_duration: `${TTL_MS}ms` } })
  await store.createTable('heavy', {})
}

export const MIX: readonly MixClient[] = [
  ...times(4, { next: singleWrite, restMs: 0 }),
  ...times(4, { next: lookup, restMs: 0 }),
  ...times(2, { next: query, restMs: 10 }),
  ...times(2, { next: transaction, restMs: 20 }),
  { next: commit, restMs: 50 },
  { next: batch, restMs: 1000 },
  { next: scan, restMs: 2000 },
  { next: fleetingBatch, restMs: 100 },
  { next: heavyWrite, restMs: 4000 },
]

const PROSE_SCHEMA = {
  default_type: 'd',
  document_schemas: {
    d: {
      schema: {
        type: 'object',
        properties: {
          title: { type: 'string', 'x-service-types': ['text', 'keyword'] },
          body: { type: 'string', 'x-service-types': ['text'] },
          tags: { type: 'array', items: { type: 'string', 'x-service-types': ['keyword'] } },
          price: { type: 'number' },
          at: { type: 'string', 'x-service-types': ['datetime'] },
        },
      },
    },
  },
}

function times(count: number, client: MixClient): readonly MixClient[] {
  return countTo(count).map(() => client)
}

function singleWrite(store: StoreClient, random: Random): Step {
  const inserts = { [keyOf(random, SINGLE_KEYS)]: { n: random(), text: 'x'.repeat(900) } }
  return post(store, 'write', `${TABLES}/single/batch`, { inserts })
}

function lookup(store: StoreClient, random: Random): Step {
  const at = `${TABLES}/single/lookup/${encodeURIComponent(keyOf(random, SINGLE_KEYS))}`
  return { kind: 'lookup', send: () => store.send('GET', at) }
}

function batch(store: StoreClient, random: Random): Step {
  const inserts = Object.fromEntries(
    countTo(BATCH_DOCUMENTS).map(() => [keyOf(random, PROSE_KEYS), proseDocument(random)]),
  )
  return post(store, 'batch of 1000', `${TABLES}/prose/batch`, { inserts })
}

function transaction(store: StoreClient, random: Random): Step {
  const inserts = (): object =>
    Object.fromEntries(
      SHARD_PREFIXES.map((prefix) => [`${prefix}/${random()}`.slice(0, 6), { n: 1 }]),
    )
  const tables = { single: { inserts: inserts() }, other: { inserts: inserts() } }
  return post(store, 'transaction', '/api/v1/batch', { tables })
}

/** Most are refused, as nobody has looked the versions up. */
function commit(store: StoreClient, random: Random): Step {
  const key = keyOf(random, SINGLE_KEYS)
  return post(store, 'commit', '/api/v1/transactions/commit', {
    read_set: [{ table: 'single', key, version: '0' }],
    tables: { other: { inserts: { [key]: { n: 1 } } } },
  })
}

function scan(store: StoreClient, random: Random): Step {
  const from = keyOf(random, PROSE_KEYS)
  const body = { from, limit: 10_000, fields: ['title'] }
  return post(store, 'scan', `${TABLES}/prose/lookup`, body)
}

function fleetingBatch(store: StoreClient, random: Random): Step {
  const born = new Date(Date.now() - TTL_MS + LIFE_MS).toISOString()
  const inserts = Object.fromEntries(
    countTo(20).map((n) => [keyOf(random, 1_000_000), { _timestamp: born, n }]),
  )
  return post(store, 'batch with TTL', `${TABLES}/fleeting/batch`, { inserts })
}

/** Documents of many tags, of 3 MiB of text, and changes to them in place. */
function heavyWrite(store: StoreClient, random: Random): Step {
  const key = `h${Math.floor(random() * HEAVY_KEYS)}`
  const send = (kind: string, body: object): Step =>
    post(store, kind, `${TABLES}/heavy/batch`, body)
  const tags = (): readonly string[] =>
    countTo(TAGS_PER_HEAVY_DOCUMENT).map((n) => `${pick(random, WORDS)}${n % 100}`)
  return pick(random, [
    () => send('heavy tags', { inserts: { [key]: { n: 1, tags: tags() } } }),
    () => send('3 MiB of text', { inserts: { [key]: { n: 1, body: prose(random, 3 * MIB) } } }),
    () => {
      const operations = [
        { op: '$inc', path: 'n', value: 1 },
        { op: '$push', path: 'tags', value: pick(random, WORDS) },
      ]
      return send('transform of 3 MiB', { transforms: [{ key, operations, upsert: true }] })
    },
  ])()
}

const word = (random: Random): string => WORDS[Math.floor(random() ** 3 * WORDS.length)] ?? ''

const QUERIES: Readonly<Record<string, (random: Random) => object>> = {
  words: (random) => ({
    full_text_search: { query: `${word(random)} ${word(random)}` },
    limit: 20,
  }),
  phrase: (random) => ({
    full_text_search: { match_phrase: `${word(random)} ${word(random)}`, field: 'body' },
  }),
  'sloppy phrase': (random) => ({
    full_text_search: {
      match_phrase: `${word(random)} ${word(random)}`,
      field: 'body',
      slop: 4,
      fuzziness: 1,
    },
  }),
  fuzzy: (random) => ({
    full_text_search: { term: word(random), fuzziness: 2, field: 'body' },
  }),
  wildcard: (random) => ({
    full_text_search: { query: `body:${word(random).slice(0, 3)}*` },
  }),
  sorted: (random) => ({
    full_text_search: { match: word(random), field: 'body' },
    filter_query: { min: 5, max: 20, field: 'price' },
    order_by: [{ field: 'price', desc: true }, { field: 'title.keyword' }],
    limit: 100,
  }),
  highlighted: (random) => ({
    full_text_search: { match: word(random), field: 'body' },
    highlight: { fields: ['body'] },
    limit: 20,
  }),
  aggregation: () => ({
    limit: 0,
    aggregations: {
      months: {
        type: 'date_histogram',
        field: 'at',
        calendar_interval: 'month',
        sub_aggregations: { tags: { type: 'terms', field: 'tags', size: 20 } },
      },
      tags: { type: 'terms', field: 'tags', size: 1000 },
    },
  }),
}

function query(store: StoreClient, random: Random): Step {
  const kind = pick(random, Object.keys(QUERIES))
  return post(store, `query: ${kind}`, `${TABLES}/prose/query`, QUERIES[kind]?.(random) ?? {})
}

function post(store: StoreClient, kind: string, at: string, body: object): Step {
  const text = JSON.stringify(body)
  return { kind, send: () => store.send('POST', at, text) }
}

function keyOf(random: Random, count: number): string {
  return `${pick(random, SHARD_PREFIXES)}/${Math.floor(random() * count)}`
}

function proseDocument(random: Random): object {
  const month = 1 + Math.floor(random() * 12)
  return {
    title: `${word(random)} ${word(random)}`,
    body: countTo(WORDS_PER_DOCUMENT)
      .map(() => word(random))
      .join(' '),
    tags: countTo(3).map(() => word(random)),
    price: Math.floor(random() * 100),
    at: `2024-${String(month).padStart(2, '0')}-01`,
  }
}

function prose(random: Random, bytes: number): string {
  const words: string[] = []
  for (let left = bytes; left > 0;) {
    const next = word(random)
    words.push(next)
    left -= next.length + 1
  }
  return words.join(' ')
}
