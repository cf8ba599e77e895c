// Texts that are found by their words, while indexes come and go: backfills of new indexes and
// rebuilds for new schemas are under way when the store dies.

import { expect } from 'chai'
import { StepHistory } from './history.ts'
import { countTo, FOUR_SHARDS, pick, scatteredKey } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import { wordOf as scriptWordOf } from './script-texts.ts'
import type { StoreClient } from '../servers/store-client.ts'

const TABLE = 'prose'
const WRITTEN_KEYS = 200
/** Documents that stay as they are, so that a backfill takes its time. */
const SETTLED_KEYS = 3000
const SETTLED_PER_BATCH = 1000
const DELETE_EVERY = 9
const KEYS_PER_BATCH_MAX = 12
const INDEXES = `/api/v1/tables/${TABLE}/indexes`
const BUILT_IN = 'full_text_index_v0'
const ADDED = 'added'
/** How often the client that changes indexes does so; otherwise it searches. */
const CHANGE_RATIO = 0.15
const WORDS =
  'A harbour pilot knows the tide, the wind and every bank of sand between the light and the quay'

export class ProseLoad implements Load {
  readonly tables: readonly IndexedTable[] = [
    { table: TABLE, field: 'n', wordOf: (value) => ({ match: wordOf(value), field: 'text' }) },
  ]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #documents = countTo(WRITTEN_KEYS).map(
    (index) => new StepHistory(keyOf('w', index), DELETE_EVERY),
  )
  #change = 0

  constructor(context: LoadContext) {
    this.#context = context
    this.clients = [(store) => this.#write(store), (store) => this.#changeOrSearch(store)]
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(TABLE, FOUR_SHARDS)
    for (let from = 0; from < SETTLED_KEYS; from += SETTLED_PER_BATCH) {
      const keys = countTo(SETTLED_PER_BATCH).map((index) => keyOf('s', from + index))
      const inserts = keys.map((key, index) => [key, documentOf(index)])
      await store.batch(TABLE, { inserts: Object.fromEntries(inserts) })
    }
  }

  /** Leaves an index to be checked, where the last crash came when there was none. */
  async check(store: StoreClient): Promise<void> {
    const lines = await store.scan(TABLE, { fields: ['n'] })
    const numbers = new Map(lines.map(({ key, ['n']: n }) => [key, n]))
    for (const document of this.#documents) {
      document.check(numbers.get(document.name), document.floor())
    }
    const settled = lines.filter(({ key }) => key.includes('/s')).length
    expect(settled, 'settled documents').to.equal(SETTLED_KEYS)
    const { text } = await store.succeed('GET', INDEXES)
    if (JSON.parse(text).length === 0) await this.#create(store, BUILT_IN)
  }

  async #write(store: StoreClient): Promise<void> {
    const { random, tally } = this.#context
    const count = 1 + Math.floor(random() * KEYS_PER_BATCH_MAX)
    const chosen = new Set(countTo(count).map(() => pick(random, this.#documents)))
    const steps = [...chosen].map((document) => ({ document, step: document.begin() }))
    const written = steps.filter(({ step }) => !step.deletes)
    const inserts = written.map(({ document, step }) => [document.name, documentOf(step.number)])
    const deleted = steps.filter(({ step }) => step.deletes)
    await store.batch(TABLE, {
      inserts: Object.fromEntries(inserts),
      deletes: deleted.map(({ document }) => document.name),
    })
    for (const { document, step } of steps) document.acknowledge(step)
    tally.add()
  }

  #changeOrSearch(store: StoreClient): Promise<void> {
    return this.#context.random() < CHANGE_RATIO ? this.#changeIndexes(store) : this.#search(store)
  }

  /** An index that is not complete, or not there, may say so. */
  async #search(store: StoreClient): Promise<void> {
    const body = { full_text_search: { match: 'harbour pilot', field: 'text' }, limit: 5 }
    await expectStatus(store, ['POST', `/api/v1/tables/${TABLE}/query`, body], [200, 400, 404, 503])
  }

  /** Round and round; what was done before a crash may be done again. */
  async #changeIndexes(store: StoreClient): Promise<void> {
    const changes = [
      () => this.#create(store, ADDED),
      () => this.#putSchema(store),
      () => this.#drop(store, BUILT_IN),
      () => this.#create(store, BUILT_IN),
      () => this.#putSchema(store),
      () => this.#drop(store, ADDED),
    ]
    const change = changes[this.#change % changes.length]
    this.#change += 1
    await change?.()
  }

  #create(store: StoreClient, name: string): Promise<void> {
    return expectStatus(store, ['POST', `${INDEXES}/${name}`, { type: 'full_text' }], [201, 409])
  }

  #drop(store: StoreClient, name: string): Promise<void> {
    return expectStatus(store, ['DELETE', `${INDEXES}/${name}`], [204, 404])
  }

  /** Another one each time, so that the table is indexed again. */
  #putSchema(store: StoreClient): Promise<void> {
    const types = this.#change % 6 === 2 ? ['text'] : ['text', 'keyword']
    const properties = { n: { type: 'number' }, text: { type: 'string', 'x-service-types': types } }
    const schema = { type: 'object', properties }
    const body = { default_type: 'prose', document_schemas: { prose: { schema } } }
    return expectStatus(store, ['PUT', `/api/v1/tables/${TABLE}/schema`, body], [200])
  }
}

async function expectStatus(
  store: StoreClient,
  [method, path, body]: readonly [string, string, unknown?],
  statuses: readonly number[],
): Promise<void> {
  const { status, text } = await store.send(method, path, body)
  expect(statuses, `${method} ${path}: ${status} ${text.slice(0, 300)}`).to.include(status)
}

function keyOf(kind: 's' | 'w', index: number): string {
  return scatteredKey(index, kind)
}

function wordOf(value: unknown): string {
  return scriptWordOf(Number(value))
}

function documentOf(n: number): unknown {
  return { n, text: `${WORDS}, ${wordOf(n)}` }
}
