// Cursors against full sorts: pages over several shards, in both directions, while documents come, go
// and change. Those that stay as they are come exactly once and in their places.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../lib/clock.ts'
import { must } from '../../../../lib/assert.ts'
import { EventLoopTurns } from '../../../../node/search/tables/event-loop-turns.ts'
import { queryTable } from '../../../../node/search/table-query.ts'
import type { QueryHit } from '../../../../node/search/run/query-result.ts'
import type { JsonObject } from '../../../../node/document/exact-json.ts'
import { parseQueryRequest } from '../../../../node/query/request/query-request.ts'
import { TextShard } from '../../../support/fakes/text-shard.ts'

const clock = new ManualClock()
const RUNS = 300
const WRITES_PER_PAGE = 2

interface OrderKey {
  readonly field: string
  readonly desc: boolean
}

interface Write {
  readonly key: string
  readonly document: JsonObject | undefined
}

/** Three shards; a key's first letter says which. */
class Table {
  readonly shards = [new TextShard({}), new TextShard({}), new TextShard({})]

  constructor(documents: Readonly<Record<string, JsonObject>>) {
    for (const [key, document] of Object.entries(documents)) this.write({ key, document })
  }

  shardOf(key: Buffer): TextShard {
    return must(this.shards[must(key[0], 'a letter') - 97], 'a shard')
  }

  write({ key, document }: Write): void {
    const shard = this.shardOf(Buffer.from(key))
    if (document === undefined) shard.delete(key)
    else shard.write({ [key]: document })
  }

  async query(body: JsonObject): Promise<readonly QueryHit[]> {
    const table = {
      name: 'books',
      schema: undefined,
      textIndexes: ['full_text'],
      vectorIndexes: [],
      shards: this.shards,
      shardOf: (key: Buffer) => this.shardOf(key),
    }
    const request = parseQueryRequest(body)
    const { signal } = new AbortController()
    const { hits } = await queryTable({ clock, turns: new EventLoopTurns() }, table, {
      request,
      signal,
    })
    return hits.hits
  }
}

type Direction = 'search_after' | 'search_before'

interface Walk {
  readonly order: readonly OrderKey[]
  readonly limit: number
  readonly direction: Direction
  /** Some before each page. */
  readonly writes: readonly Write[]
}

/** All pages from one end, in the order asked for. */
async function walk(table: Table, body: JsonObject, way: Walk): Promise<readonly QueryHit[]> {
  const { limit, direction } = way
  const order_by = way.order.map(({ field, desc }) => ({ field, desc }))
  const isForward = direction === 'search_after'
  const all = await table.query({ ...body, order_by, limit: 10_000 })
  let found = isForward ? all.slice(0, 1) : all.slice(-1)
  const writes = [...way.writes]
  for (let edge = found[0]; edge !== undefined;) {
    for (const write of writes.splice(0, WRITES_PER_PAGE)) table.write(write)
    const cursor = sortOf(edge)
    const page = await table.query({ ...body, order_by, limit, [direction]: cursor })
    expect(page.length).to.be.at.most(limit)
    found = isForward ? [...found, ...page] : [...page, ...found]
    edge = isForward ? page.at(-1) : page[0]
  }
  return found
}

function sortOf({ _sort: sort }: QueryHit): readonly string[] {
  return sort
}

function keysOf(hits: readonly QueryHit[]): readonly string[] {
  return hits.map(({ _id: id }) => id)
}

// The order by its definition.

function compareBy(order: readonly OrderKey[]) {
  return ([leftKey, left]: Entry, [rightKey, right]: Entry): number => {
    for (const { field, desc } of order) {
      const [a, b] = [
        valueOf(leftKey, left, { field, desc }),
        valueOf(rightKey, right, { field, desc }),
      ]
      if (a === b) continue
      if (a === undefined) return 1
      if (b === undefined) return -1
      return a < b === desc ? 1 : -1
    }
    return leftKey < rightKey ? -1 : 1
  }
}

type Entry = readonly [string, JsonObject]

/**
 * Of several values the least counts ascending, the greatest descending. Numbers have one digit here,
 * so that texts are ordered as they are.
 */
function valueOf(key: string, document: JsonObject, { field, desc }: OrderKey) {
  if (field === '_id') return key
  const values = [document[field.replace('.keyword', '')] ?? []].flat()
  const ascending = values.map(String).toSorted()
  return ascending.at(desc ? -1 : 0)
}

const digit = fc.integer({ min: 0, max: 4 })
const document: fc.Arbitrary<JsonObject> = fc.record(
  {
    n: fc.oneof(digit, fc.array(digit, { maxLength: 3 })),
    k: fc.constantFrom('x', 'y', 'z', 'é'),
    t: fc.constantFrom('sea', 'sea sea road', 'road', 'sea and roads'),
  },
  { requiredKeys: ['t'] },
)
const keys = (kind: string) => fc.stringMatching(new RegExp(`^[abc]${kind}[0-9]{1,2}$`))
const settled = fc.dictionary(keys('s'), document, { minKeys: 1, maxKeys: 25 })
const moving = fc.record({ key: keys('m'), document: fc.option(document, { nil: undefined }) })
const order = fc
  .uniqueArray(fc.constantFrom('n', 'k.keyword', '_id'), { minLength: 1, maxLength: 3 })
  .chain((fields) =>
    fc.tuple(...fields.map((field) => fc.boolean().map((desc) => ({ field, desc })))),
  )
const limit = fc.integer({ min: 1, max: 5 })

describe('cursors over several shards', () => {
  for (const direction of ['search_after', 'search_before'] as const) {
    it(`give unchanged documents exactly once and in order, by ${direction}`, async () => {
      const writes = fc.array(moving, { maxLength: 40 })
      const property = fc.asyncProperty(
        fc.record({ settled, order, limit, writes, first: fc.array(moving, { maxLength: 15 }) }),
        async ({ settled: documents, first, ...way }) => {
          // So that nothing that moves is at the end where the walk begins.
          const table = new Table(documents)
          const sorted = Object.entries(documents).toSorted(compareBy(way.order))
          const ends = await table.query({ order_by: way.order.map((one) => ({ ...one })) })
          expect(keysOf(ends)).to.deep.equal(sorted.slice(0, 10).map(([key]) => key))
          for (const write of first) table.write(write)

          const found = await walk(table, {}, { ...way, direction })

          const stayed = keysOf(found).filter((key) => key in documents)
          expect(stayed).to.deep.equal(sorted.map(([key]) => key))
        },
      )
      await fc.assert(property, { numRuns: RUNS })
    }).timeout(240_000)

    it(`give every hit exactly once in the order of scores, by ${direction}`, async () => {
      const property = fc.asyncProperty(settled, limit, async (documents, size) => {
        const table = new Table(documents)
        const body = { full_text_search: { match: 'sea roads', field: 't' } }
        const way = { order: [{ field: '_score', desc: true }], limit: size, writes: [], direction }

        const found = await walk(table, body, way)

        const scores = found.map(({ _score: score, _id: id }) => ({ score, id }))
        const sorted = scores.toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
        expect(scores).to.deep.equal(sorted)
        const matching = Object.entries(documents).filter(([, { t }]) => t !== 'road')
        expect(keysOf(found).toSorted()).to.deep.equal(matching.map(([key]) => key).toSorted())
      })
      await fc.assert(property, { numRuns: RUNS })
    }).timeout(240_000)
  }

  it('show a document again only after it has changed', async () => {
    const writes = fc.array(moving, { maxLength: 40 })
    const property = fc.asyncProperty(
      settled,
      writes,
      order,
      async (documents, changes, keysBy) => {
        const table = new Table(documents)
        const way = { order: keysBy, limit: 2, writes: changes, direction: 'search_after' } as const

        const found = await walk(table, {}, way)

        const times = new Map<string, number>()
        for (const key of keysOf(found)) times.set(key, (times.get(key) ?? 0) + 1)
        for (const [key, count] of times) {
          const written = changes.filter((change) => change.key === key).length
          expect(count, key).to.be.at.most(Math.max(1, written))
        }
      },
    )
    await fc.assert(property, { numRuns: RUNS })
  }).timeout(240_000)
})
