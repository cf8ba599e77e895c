// Searches of a whole store against BM25's formula applied document by document: what shards find is merged, and
// scored by the words of all shards, wherever their replicas are.

import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import type { SortField } from '../../node/index/text/matching/sorted-hits.ts'
import { NaiveTextIndex, type NaiveHit } from '../support/fakes/naive-text-index.ts'
import {
  PAIRS_SCHEMA,
  PAIRS_SPLIT_KEYS,
  PairGenerator,
  type QueryPair,
} from '../support/loads/asked-pairs.ts'
import { countTo } from '../support/loads/load.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { until } from '../support/until.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const TABLE = 'pages'
const ROUNDS = 6
const SEARCHES_PER_ROUND = 20
const WRITES_MAX = 40
const LIMIT = 1000
/** The promise is 1e-4; scores are single precision, so that this is about what they have. */
const TOLERANCE = 1e-6

interface Hit {
  readonly _id: string
  readonly _score: number
}

/** Text searches against the formula (QUARRY_TEST_SEED=${seed}), wherever the store runs. */
export function describeTextDifferential(place: StorePlace): void {
  describe(`searches against the formula (QUARRY_TEST_SEED=${seed}), of ${place.name}`, () => {
    const make = new PairGenerator(seededRandom(seed))
    const naive = new NaiveTextIndex()
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      const schema = PAIRS_SCHEMA
      await client.createTable(TABLE, { split_keys: PAIRS_SPLIT_KEYS, schema })
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    it('find the same documents with the same scores through writes and deletes', async () => {
      let found = 0
      for (let round = 0; round < ROUNDS; round++) found += await runRound(client, make, naive)

      // Else the questions were too narrow, and little has been shown.
      expect(found).to.be.greaterThan(ROUNDS * SEARCHES_PER_ROUND)
    })

    it('find them after the store was stopped and started', async () => {
      await store.stop()
      await store.start()
      await until(async () => (await ask(client, { limit: 1 })).status === 200)

      await searchAll(client, make, naive)
      await runRound(client, make, naive)
    })
  })
}

/** Answers how many hits there were. */
async function runRound(
  client: StoreClient,
  make: PairGenerator,
  naive: NaiveTextIndex,
): Promise<number> {
  await write(client, make, naive)
  return searchAll(client, make, naive)
}

async function write(
  client: StoreClient,
  make: PairGenerator,
  naive: NaiveTextIndex,
): Promise<void> {
  const written = countTo(1 + make.below(WRITES_MAX)).map(() => make.document())
  const inserts = new Map(written.map(({ key, json }) => [key, json]))
  const deletes = [...new Set(countTo(make.below(6)).map(() => make.key()))]
  const deleted = deletes.filter((key) => !inserts.has(key))
  for (const { indexed } of written) naive.upsert(indexed)
  for (const key of deleted) naive.delete(Buffer.from(key))
  const body = { inserts: Object.fromEntries(inserts), deletes: deleted, sync_level: 'full_text' }
  await client.batch(TABLE, body)
}

async function searchAll(
  client: StoreClient,
  make: PairGenerator,
  naive: NaiveTextIndex,
): Promise<number> {
  let found = 0
  for (const _ of countTo(SEARCHES_PER_ROUND)) {
    const pair = make.query()
    const filter = make.below(4) === 0 ? make.query(0) : undefined
    const check = make.below(3) === 0 ? expectSorted : expectScored
    found += await check(client, naive, pair, filter)
  }
  return found
}

/** Each hit has the score of its place. Hits with nearly equal scores may change their places. */
async function expectScored(
  client: StoreClient,
  naive: NaiveTextIndex,
  pair: QueryPair,
  filter: QueryPair | undefined,
): Promise<number> {
  const { body, expected } = searchOf(naive, pair, filter)
  const { total, hits } = await query(client, body)

  const shown = JSON.stringify(body)
  expect(total, shown).to.equal(expected.length)
  const keys = hits.map(({ _id: id }) => id)
  expect(keys.toSorted(), shown).to.deep.equal(expected.map(keyOf).toSorted())
  const scores = new Map(expected.map((hit) => [keyOf(hit), hit.score]))
  for (const [i, { _id: id, _score: score }] of hits.entries()) {
    const most = TOLERANCE * Math.max(1, score)
    expect(score, `${id} by ${shown}`).to.be.closeTo(scores.get(id) ?? NaN, most)
    expect(score, `place ${i} by ${shown}`).to.be.closeTo(expected[i]?.score ?? NaN, most)
  }
  return hits.length
}

async function expectSorted(
  client: StoreClient,
  naive: NaiveTextIndex,
  pair: QueryPair,
  filter: QueryPair | undefined,
): Promise<number> {
  const sort: readonly SortField[] = [
    { by: 'column', field: 'rank', descending: true },
    { by: 'key', descending: false },
  ]
  const { body, expected } = searchOf(naive, pair, filter, sort)
  const order_by = [{ field: 'rank', desc: true }, { field: '_id' }]
  const { hits } = await query(client, { ...body, order_by })

  const keys = hits.map(({ _id: id }) => id)
  expect(keys, JSON.stringify(body)).to.deep.equal(expected.map(keyOf))
  return hits.length
}

function searchOf(
  naive: NaiveTextIndex,
  pair: QueryPair,
  filter: QueryPair | undefined,
  sort?: readonly SortField[],
): { readonly body: object; readonly expected: readonly NaiveHit[] } {
  const filtered = filter === undefined ? {} : { filter: filter.engine }
  const sorted = sort === undefined ? {} : { sort }
  const asked = filter === undefined ? {} : { filter_query: filter.asked }
  return {
    body: { full_text_search: pair.asked, ...asked, limit: LIMIT },
    expected: naive.search({ query: pair.engine, nowMs: 0, ...filtered, ...sorted }),
  }
}

function ask(client: StoreClient, body: object): ReturnType<StoreClient['send']> {
  return client.send('POST', `/api/v1/tables/${TABLE}/query`, {
    full_text_search: { match_all: {} },
    ...body,
  })
}

async function query(
  client: StoreClient,
  body: object,
): Promise<{ readonly total: number; readonly hits: readonly Hit[] }> {
  const { text } = await client.succeed('POST', `/api/v1/tables/${TABLE}/query`, body)
  const { responses } = JSON.parse(text)
  expect(responses[0].error, text.slice(0, 500)).to.equal(undefined)
  return responses[0].hits
}

/** The naive index names its documents by the bytes of their keys. */
function keyOf({ key }: NaiveHit): string {
  return Buffer.from(key, 'latin1').toString()
}
