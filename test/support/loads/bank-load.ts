// Transfers between accounts on different shards by optimistic commits: money is neither made nor
// lost, and no account is ever overdrawn.

import { expect } from 'chai'
import { countTo, FOUR_SHARDS, pick, scatteredKey } from './load.ts'
import type { ClientStep, IndexedTable, Load, LoadContext } from './load.ts'
import type { Looked, StoreClient } from '../servers/store-client.ts'

const TABLE = 'bank'
const ACCOUNTS = 16
const FIRST_BALANCE = 100
const TRANSFER_MAX = 30
const CLIENTS = 3

export class BankLoad implements Load {
  readonly tables: readonly IndexedTable[] = [{ table: TABLE, field: 'balance' }]
  readonly clients: readonly ClientStep[]
  readonly #context: LoadContext
  readonly #accounts = countTo(ACCOUNTS).map((index) => scatteredKey(index))

  constructor(context: LoadContext) {
    this.#context = context
    const transfers = countTo(CLIENTS).map((): ClientStep => (store) => this.#transfer(store))
    this.clients = [...transfers, (store) => this.#audit(store)]
  }

  async prepare(store: StoreClient): Promise<void> {
    await store.createTable(TABLE, FOUR_SHARDS)
    const accounts = this.#accounts.map((key) => [key, { balance: FIRST_BALANCE }])
    await store.batch(TABLE, { inserts: Object.fromEntries(accounts) })
  }

  async check(store: StoreClient): Promise<void> {
    await this.#audit(store)
    for (const key of this.#accounts) await this.#look(store, key)
  }

  async #transfer(store: StoreClient): Promise<void> {
    const { random, tally } = this.#context
    const from = pick(random, this.#accounts)
    const to = pick(
      random,
      this.#accounts.filter((key) => key !== from),
    )
    const [source, target] = await Promise.all([this.#look(store, from), this.#look(store, to)])
    const amount = Math.min(1 + Math.floor(random() * TRANSFER_MAX), balanceOf(source))
    if (amount === 0) return
    const answer = await store.send('POST', '/api/v1/transactions/commit', {
      read_set: [claim(from, source), claim(to, target)],
      tables: {
        [TABLE]: {
          inserts: {
            [from]: { balance: balanceOf(source) - amount },
            [to]: { balance: balanceOf(target) + amount },
          },
        },
      },
    })
    expect(answer.status, answer.text).to.be.oneOf([200, 409])
    if (answer.status === 200) tally.add()
  }

  #look(store: StoreClient, key: string): Promise<Looked> {
    return this.#context.versions.watch(`${TABLE}/${key}`, () => store.lookup(TABLE, key))
  }

  async #audit(store: StoreClient): Promise<void> {
    const lines = await store.scan(TABLE, { fields: ['balance'] })
    const balances = lines.map(({ balance }) => Number(balance))
    const total = balances.reduce((sum, balance) => sum + balance, 0)
    expect(lines.length, 'accounts').to.equal(ACCOUNTS)
    expect(total, `the total of ${balances.join(', ')}`).to.equal(ACCOUNTS * FIRST_BALANCE)
    expect(Math.min(...balances), `the least of ${balances.join(', ')}`).to.be.at.least(0)
  }
}

function balanceOf({ document }: Looked): number {
  return Number(document?.['balance'])
}

function claim(key: string, { version }: Looked): unknown {
  return { table: TABLE, key, version: version.toString() }
}
