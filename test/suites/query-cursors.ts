// Pages over HTTP while clients write: what nobody touches comes exactly once, in the order of a sort
// by hand.

import { expect } from 'chai'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import { countTo, FOUR_SHARDS, pick, SHARD_PREFIXES } from '../support/loads/load.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const TABLE = 'books'
const SETTLED = 400
const MOVING = 100
const WRITTEN_PER_BATCH = 20

interface Book {
  readonly rank: number
  readonly tag?: string
}

interface Hit {
  readonly _id: string
  readonly _sort: readonly string[]
}

type Compare = (a: readonly [string, Book], b: readonly [string, Book]) => number

const byKey: Compare = ([a], [b]) => (a < b ? -1 : 1)
const byTag: Compare = ([, { tag: a = '~' }], [, { tag: b = '~' }]) => (a < b ? -1 : Number(a > b))

/** Orders as a client asks for them and as they are done by hand; a missing tag comes last. */
const ORDERS: readonly { readonly asked: readonly object[]; readonly compare: Compare }[] = [
  {
    asked: [{ field: 'rank' }],
    compare: (a, b) => a[1].rank - b[1].rank || byKey(a, b),
  },
  {
    asked: [{ field: 'tag.keyword' }, { field: 'rank', desc: true }],
    compare: (a, b) => byTag(a, b) || b[1].rank - a[1].rank || byKey(a, b),
  },
  {
    asked: [{ field: '_id', desc: true }],
    compare: (a, b) => -byKey(a, b),
  },
]

/** Words whose scores change with each document that is written. */
const SCORED = [{ match: 'map sea', field: 'tag' }, { query: 'tag:(map OR ro* OR seq~1)' }]

/** Cursors over HTTP (QUARRY_TEST_SEED=${seed}), wherever the store runs. */
export function describeQueryCursors(place: StorePlace): void {
  describe(`cursors over HTTP (QUARRY_TEST_SEED=${seed}), of ${place.name}`, () => {
    const random = seededRandom(seed)
    const settled = new Map(countTo(SETTLED).map((index) => [keyOf('s', index), bookOf(random)]))
    let store: StoreUnderTest
    let client: StoreClient

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      await client.createTable(TABLE, FOUR_SHARDS)
      const inserts = Object.fromEntries([...settled, ...countTo(MOVING).map(movingBook)])
      await client.batch(TABLE, { inserts, sync_level: 'full_text' })
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    function movingBook(index: number): [string, Book] {
      return [keyOf('m', index), bookOf(random)]
    }

    async function page(body: object): Promise<readonly Hit[]> {
      const { text } = await client.succeed('POST', `/api/v1/tables/${TABLE}/query`, body)
      return JSON.parse(text).responses[0].hits.hits
    }

    /** Puts and deletes documents that are not settled, one batch after the other. */
    async function writeUntil(over: AbortSignal): Promise<number> {
      for (let batches = 0; ; batches += 1) {
        if (over.aborted) return batches
        const books = countTo(WRITTEN_PER_BATCH).map(() =>
          movingBook(Math.floor(random() * MOVING)),
        )
        const [inserts, deletes] = [books.slice(5), books.slice(0, 5).map(([key]) => key)]
        const kept = inserts.filter(([key]) => !deletes.includes(key))
        await client.batch(TABLE, {
          inserts: Object.fromEntries(kept),
          deletes: [...new Set(deletes)],
          sync_level: 'full_text',
        })
      }
    }

    for (const { asked, compare } of ORDERS) {
      for (const direction of ['search_after', 'search_before'] as const) {
        it(`find every unchanged document by ${JSON.stringify(asked)}, ${direction}`, async () => {
          const sorted = [...settled].toSorted(compare).map(([key]) => key)
          const isForward = direction === 'search_after'
          const over = new AbortController()
          const writer = writeUntil(over.signal)

          const found = await walk({ order_by: asked, limit: 30 }, direction)
          over.abort()
          const batches = await writer

          expect(batches).to.be.greaterThan(0)
          const stayed = found.filter((key) => settled.has(key))
          expect(stayed).to.deep.equal(isForward ? sorted : sorted.toReversed())
        })
      }
    }

    for (const words of SCORED) {
      for (const direction of ['search_after', 'search_before'] as const) {
        it(`find every unchanged document once by the score of ${JSON.stringify(words)}, ${direction}`, async () => {
          const whole = await page({ full_text_search: words, limit: 1000 })
          const matching = whole.map(({ _id: key }) => key).filter((key) => settled.has(key))
          const over = new AbortController()
          const writer = writeUntil(over.signal)

          const found = await walk({ full_text_search: words, limit: 7 }, direction)
          over.abort()
          const batches = await writer

          expect(batches).to.be.greaterThan(0)
          const stayed = found.filter((key) => settled.has(key))
          expect(stayed.toSorted()).to.deep.equal(matching.toSorted())
        })
      }
    }

    /** From one end to the other, in the order of the way. */
    async function walk(
      body: object,
      direction: 'search_after' | 'search_before',
    ): Promise<readonly string[]> {
      const isForward = direction === 'search_after'
      const whole = await page({ ...body, limit: 1000 })
      const edge = isForward ? whole[0] : whole.at(-1)
      const found: string[] = []
      for (let at = edge; at !== undefined;) {
        const { _id: id, _sort: cursor } = at
        const hits = await page({ ...body, [direction]: cursor })
        const inOrder = isForward ? hits : hits.toReversed()
        found.push(id, ...inOrder.slice(0, -1).map(({ _id: one }) => one))
        at = inOrder.at(-1)
      }
      return found
    }
  })
}

function keyOf(kind: 's' | 'm', index: number): string {
  return `${SHARD_PREFIXES[index % SHARD_PREFIXES.length]}/${kind}${index}`
}

function bookOf(random: Random): Book {
  const rank = Math.floor(random() * 40)
  return random() < 0.2 ? { rank } : { rank, tag: pick(random, ['map', 'sea', 'road']) }
}
