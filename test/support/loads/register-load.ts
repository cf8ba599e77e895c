// Single-document writes: each register has one writer whose numbers increase, and many readers.

import { StepHistory } from './history.ts'
import { countTo, FOUR_SHARDS, pick, scatteredKey } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import type { StoreClient } from '../servers/store-client.ts'

const TABLE = 'registers'
const CLIENTS = 4
const REGISTERS_PER_CLIENT = 3
const DELETE_EVERY = 7
const READ_RATIO = 0.3

export class RegisterLoad implements Load {
  readonly tables: readonly IndexedTable[] = [{ table: TABLE, field: 'n' }]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #registers: readonly StepHistory[]

  constructor(context: LoadContext) {
    this.#context = context
    this.#registers = countTo(CLIENTS * REGISTERS_PER_CLIENT).map(
      (index) => new StepHistory(scatteredKey(index), DELETE_EVERY),
    )
    this.clients = countTo(CLIENTS).map((client) => {
      const own = this.#registers.filter((_, index) => index % CLIENTS === client)
      return (store) => this.#step(store, own)
    })
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(TABLE, FOUR_SHARDS)
  }

  async check(store: StoreClient): Promise<void> {
    for (const register of this.#registers) await this.#read(store, register)
  }

  #step(store: StoreClient, own: readonly StepHistory[]): Promise<void> {
    const { random } = this.#context
    if (random() < READ_RATIO) return this.#read(store, pick(random, this.#registers))
    return this.#write(store, pick(random, own))
  }

  async #write(store: StoreClient, register: StepHistory): Promise<void> {
    const step = register.begin()
    const { name } = register
    const body = step.deletes ? { deletes: [name] } : { inserts: { [name]: { n: step.number } } }
    await store.batch(TABLE, body)
    register.acknowledge(step)
    this.#context.tally.add()
  }

  async #read(store: StoreClient, register: StepHistory): Promise<void> {
    const floor = register.floor()
    const { name } = register
    const { document } = await this.#context.versions.watch(`${TABLE}/${name}`, () =>
      store.lookup(TABLE, name),
    )
    register.check(document?.['n'], floor)
  }
}
