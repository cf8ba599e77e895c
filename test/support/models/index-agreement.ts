// What each index of a table finds, against a scan of the table: key by key, by values that
// change with every write, so that an entry of an earlier document shows.

import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { countTo, SHARD_PREFIXES, vectorOf, type IndexedTable } from '../loads/load.ts'
import type { StoreClient } from '../servers/store-client.ts'

const COMPLETE_DEADLINE_MS = 120_000
const STATUS_PERIOD_MS = 10
const HITS_PER_PAGE = 200
const HITS_MAX = 10_000
const VALUES_CHECKED_MAX = 5
/** No load writes it. */
const ABSENT = '~absent'

interface Hit {
  readonly _id: string
  readonly _index_scores?: Readonly<Record<string, number>>
  readonly _sort: readonly string[]
}

interface Hits {
  readonly total: number
  readonly hits: readonly Hit[]
}

interface Index {
  readonly config: { readonly name: string; readonly type: string }
  readonly status: {
    readonly total_indexed: number
    readonly rebuilding: boolean
    readonly backfill_progress: number
    readonly error: string
  }
}

interface Indexed extends IndexedTable {
  readonly index: string
}

/** The value of the table's field by key. */
type Values = ReadonlyMap<string, unknown>

/** Called while nobody writes. */
export async function expectIndexAgrees(store: StoreClient, indexed: IndexedTable): Promise<void> {
  for (const { config, status } of await caughtUp(store, indexed.table)) {
    const index = config.name
    if (config.type === 'full_text') {
      await expectAgrees(store, { ...indexed, index }, status.total_indexed)
    } else {
      await expectVectors(store, { ...indexed, index }, status.total_indexed)
    }
  }
}

/** The index has a vector for each document, and no other, and so has the document. */
async function expectVectors(store: StoreClient, indexed: Indexed, total: number): Promise<void> {
  const { table, index, field } = indexed
  expect(indexed.hasVectors, `${table} has vectors`).to.equal(true)
  const lines = await store.scan(table, { fields: [field, '_embeddings'] })
  for (const { key, [field]: number, _embeddings: vectors } of lines) {
    const expected = { [index]: vectorOf(Number(number)) }
    expect(vectors, `${table}, vectors of ${key}`).to.deep.equal(expected)
  }
  const { hits } = await query(store, table, {
    embeddings: { [index]: vectorOf(0) },
    limit: HITS_PER_PAGE,
    search_effort: 1,
  })
  const distances = hits.map(({ _id: id, _index_scores: scores }) => [id, scores?.[index]] as const)
  const expected = lines.map(({ key, [field]: number }) => [key, Number(number) ** 2] as const)
  expect(new Map(distances), `${table}, ${index}`).to.deep.equal(new Map(expected))
  expect(total, `${table}, documents of ${index}`).to.equal(lines.length)
}

async function expectAgrees(store: StoreClient, indexed: Indexed, total: number): Promise<void> {
  const { table, index, expires } = indexed
  const before = await scanned(store, indexed)
  const { values, totals } = await everyHit(store, indexed)
  // Documents that expire on the way may be in one of the scans and not in the other.
  const after = expires ? await scanned(store, indexed) : before
  expectBetween(values, { before, after }, `${table}, ${index}: every document`)
  for (const value of sample([...new Set(before.values())])) {
    await expectFoundBy(store, indexed, { value, before, after })
  }
  if (expires) return
  for (const found of [...totals, total]) {
    expect(found, `${table}, documents of ${index}`).to.equal(before.size)
  }
}

/** Waits until every index of the table is complete and has seen every write. */
async function caughtUp(store: StoreClient, table: string): Promise<readonly Index[]> {
  const deadlineMs = systemClock.monotonicMs() + COMPLETE_DEADLINE_MS
  // Nothing is deleted, on any shard, and that is answered when the indexes have got that far.
  const deletes = SHARD_PREFIXES.map((prefix) => `${prefix}/${ABSENT}`)
  for (;;) {
    await store.batch(table, { deletes, sync_level: 'full_text' })
    const { text } = await store.succeed('GET', `/api/v1/tables/${table}/indexes`)
    const indexes: readonly Index[] = JSON.parse(text)
    const isComplete = indexes.every(
      ({ status }) => status.backfill_progress === 1 && !status.rebuilding && status.error === '',
    )
    if (isComplete && indexes.length > 0) return indexes
    expect(systemClock.monotonicMs(), `incomplete: ${text}`).to.be.below(deadlineMs)
    await systemClock.sleep(STATUS_PERIOD_MS)
  }
}

async function scanned(store: StoreClient, { table, field }: Indexed): Promise<Values> {
  const lines = await store.scan(table, { fields: [field] })
  return new Map(lines.map((line) => [line.key, line[field]]))
}

/** Page after page in the order of the field; its values are those that the index holds. */
async function everyHit(
  store: StoreClient,
  { table, index, field }: Indexed,
): Promise<{ readonly values: Values; readonly totals: readonly number[] }> {
  const values = new Map<string, unknown>()
  const totals: number[] = []
  let cursor: readonly string[] | undefined
  for (;;) {
    const order_by = [{ field }]
    const next = cursor === undefined ? {} : { search_after: cursor }
    const page = await query(store, table, {
      indexes: [index],
      order_by,
      limit: HITS_PER_PAGE,
      ...next,
    })
    totals.push(page.total)
    for (const { _id: id, _sort: sort } of page.hits) {
      expect(values.has(id), `${table} ${id} on two pages`).to.equal(false)
      values.set(id, valueOf(sort[0]))
    }
    if (page.hits.length === 0) return { values, totals }
    ;({ _sort: cursor } = must(page.hits.at(-1), 'a last hit'))
  }
}

/** The documents that are found by a value, by its word if they have one, and by their keys. */
async function expectFoundBy(
  store: StoreClient,
  { table, index, field, wordOf }: Indexed,
  { value, before, after }: { value: unknown; before: Values; after: Values },
): Promise<void> {
  const having = (values: Values): Values =>
    new Map([...values].filter(([, other]) => other === value))
  const expected = { before: having(before), after: having(after) }
  const keys = [...expected.before.keys()]
  const conditions: readonly unknown[] = [
    { min: value, max: value, inclusive_max: true, field },
    ...(wordOf === undefined ? [] : [wordOf(value)]),
    { ids: keys },
  ]
  for (const filter_query of conditions) {
    const { hits } = await query(store, table, { indexes: [index], filter_query, limit: HITS_MAX })
    const found = new Map(hits.map(({ _id: id }) => [id, value]))
    expectBetween(
      found,
      expected,
      `${table}, ${index} by ${JSON.stringify(filter_query).slice(0, 200)}`,
    )
  }
}

function expectBetween(
  found: Values,
  { before, after }: { readonly before: Values; readonly after: Values },
  what: string,
): void {
  for (const [key, value] of found) {
    expect(before.has(key), `${what}: ${key} is no such document`).to.equal(true)
    expect(value, `${what}: ${key} in the index`).to.equal(before.get(key))
  }
  const missing = [...after.keys()].filter((key) => !found.has(key))
  expect(missing, `${what}: missing`).to.deep.equal([])
}

async function query(store: StoreClient, table: string, body: unknown): Promise<Hits> {
  const { text } = await store.succeed('POST', `/api/v1/tables/${table}/query`, body)
  const { responses } = JSON.parse(text)
  expect(responses[0].error, text.slice(0, 500)).to.equal(undefined)
  return responses[0].hits
}

/** From a cursor: a number has an n in front. */
function valueOf(part = ''): unknown {
  return part.startsWith('n') ? Number(part.slice(1)) : part
}

/** The first, the last and some between. */
function sample(values: readonly unknown[]): readonly unknown[] {
  if (values.length <= VALUES_CHECKED_MAX) return values
  const apart = (values.length - 1) / (VALUES_CHECKED_MAX - 1)
  return countTo(VALUES_CHECKED_MAX).map((at) => values[Math.round(at * apart)])
}
