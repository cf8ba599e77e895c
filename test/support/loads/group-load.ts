// Batches over four shards, some over two tables: the documents of a group are always written and
// deleted together, so they show one number and one version, or are all absent.

import { expect } from 'chai'
import { StepHistory } from './history.ts'
import type { Step } from './history.ts'
import { countTo, FOUR_SHARDS, pick, SHARD_PREFIXES, vectorOf } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import type { StoreClient } from '../servers/store-client.ts'

const SPREAD = 'spread'
const OTHER = 'other'
const VECTORS = { type: 'embeddings', external: true, dimension: 2 }
const GROUPS = 6
const WRITERS = 3
const DELETE_EVERY = 5

interface Group {
  readonly history: StepHistory
  /** Whether a fifth document lies in the other table. */
  readonly isWide: boolean
}

export class GroupLoad implements Load {
  readonly tables: readonly IndexedTable[] = [
    { table: SPREAD, field: 'n', hasVectors: true },
    { table: OTHER, field: 'n' },
  ]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #groups: readonly Group[]

  constructor(context: LoadContext) {
    this.#context = context
    this.#groups = countTo(GROUPS).map((index) => ({
      history: new StepHistory(`group-${index}`, DELETE_EVERY),
      isWide: index % 2 === 0,
    }))
    const writers = countTo(WRITERS).map((writer): ClientStep => {
      const own = this.#groups.filter((_, index) => index % WRITERS === writer)
      return (store) => this.#write(store, pick(context.random, own))
    })
    this.clients = [...writers, (store) => this.#scan(store)]
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(SPREAD, { ...FOUR_SHARDS, indexes: { vec: VECTORS } })
    await store.createTable(OTHER, {})
  }

  async check(store: StoreClient): Promise<void> {
    await this.#scan(store)
    for (const group of this.#groups) await this.#checkGroup(store, group)
  }

  async #write(store: StoreClient, { history, isWide }: Group): Promise<void> {
    const step = history.begin()
    const keys = keysOf(history)
    if (isWide) {
      const tables = {
        [SPREAD]: withVectors(step, keys),
        [OTHER]: operationsOf(step, [history.name]),
      }
      await store.succeed('POST', '/api/v1/batch', { tables })
    } else {
      await store.batch(SPREAD, withVectors(step, keys))
    }
    history.acknowledge(step)
    this.#context.tally.add()
  }

  /** A scan shows one moment: never a part of a batch. */
  async #scan(store: StoreClient): Promise<void> {
    const floors = this.#groups.map(({ history }) => history.floor())
    const lines = await store.scan(SPREAD, { fields: ['n'] })
    const numbers = new Map(lines.map(({ key, ['n']: n }) => [key, n]))
    for (const [index, { history }] of this.#groups.entries()) {
      const seen = keysOf(history).map((key) => numbers.get(key))
      expectOne(seen, `${history.name} in a scan`)
      history.check(seen[0], floors[index]!)
    }
  }

  async #checkGroup(store: StoreClient, { history, isWide }: Group): Promise<void> {
    const places = keysOf(history).map((key) => ({ table: SPREAD, key }))
    if (isWide) places.push({ table: OTHER, key: history.name })
    const floor = history.floor()
    const looked = await Promise.all(
      places.map(({ table, key }) =>
        this.#context.versions.watch(`${table}/${key}`, () => store.lookup(table, key)),
      ),
    )
    const numbers = looked.map(({ document }) => document?.['n'])
    expectOne(numbers, `${history.name} after a restart`)
    expectOne(
      looked.map(({ version }) => version),
      `versions of ${history.name}`,
    ) // INV-T4
    history.check(numbers[0], floor)
  }
}

function keysOf({ name }: StepHistory): readonly string[] {
  return SHARD_PREFIXES.map((prefix) => `${prefix}/${name}`)
}

/** The vector of a document shows the number of its last write, as the document does. */
function withVectors(step: Step, keys: readonly string[]): unknown {
  const { number, deletes } = step
  if (deletes) return operationsOf(step, keys)
  const document = { n: number, _embeddings: { vec: vectorOf(number) } }
  return { inserts: Object.fromEntries(keys.map((key) => [key, document])) }
}

function operationsOf({ number, deletes }: Step, keys: readonly string[]): unknown {
  if (deletes) return { deletes: keys }
  return { inserts: Object.fromEntries(keys.map((key) => [key, { n: number }])) }
}

function expectOne(values: readonly unknown[], what: string): void {
  expect(new Set(values).size, `${what}: ${values.join(', ')}`).to.equal(1)
}
