// A table that linear merges keep equal to a source: each generation of the source is one page with
// other keys than the one before, so the table always shows exactly one generation.

import { expect } from 'chai'
import { StepHistory } from './history.ts'
import { countTo, FOUR_SHARDS, SHARD_PREFIXES } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import { compareUtf8, valueOf } from './script-texts.ts'
import type { StoreClient } from '../servers/store-client.ts'

const TABLE = 'merged'
const KEYS_PER_SHARD = 5
/** In every generation, so that each page covers the whole table. */
const LAST_KEY = 'z'

export class MergeLoad implements Load {
  readonly tables: readonly IndexedTable[] = [{ table: TABLE, field: 'n' }]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #generations = new StepHistory('merged generation', Number.MAX_SAFE_INTEGER)

  constructor(context: LoadContext) {
    this.#context = context
    this.clients = [(store) => this.#merge(store), (store) => this.check(store)]
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(TABLE, FOUR_SHARDS)
  }

  async check(store: StoreClient): Promise<void> {
    const floor = this.#generations.floor()
    const lines = await store.scan(TABLE, { fields: ['n'] })
    const generation = lines[0]?.['n']
    this.#generations.check(generation, floor)
    if (generation === undefined) return
    const seen = lines.map(({ key, ['n']: n }) => [key, n])
    const page = keysOf(Number(generation)).map((key) => [key, generation])
    expect(seen).to.deep.equal(page)
  }

  async #merge(store: StoreClient): Promise<void> {
    const step = this.#generations.begin()
    const records = keysOf(step.number).map((key) => [key, { n: step.number }])
    const path = `/api/v1/tables/${TABLE}/merge`
    await store.succeed('POST', path, { records: Object.fromEntries(records) })
    this.#generations.acknowledge(step)
    this.#context.tally.add()
  }
}

/** Ascending. Two keys of three, another choice in each generation, and the last one. */
function keysOf(generation: number): readonly string[] {
  const numbers = countTo(KEYS_PER_SHARD).filter((index) => (index + generation) % 3 !== 0)
  const keys = SHARD_PREFIXES.flatMap((prefix) => {
    return numbers.map((index) => `${prefix}/${valueOf(index)}`)
  })
  return [...keys.toSorted(compareUtf8), LAST_KEY]
}
