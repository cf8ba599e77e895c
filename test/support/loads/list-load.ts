// Random transactions over HTTP that read lists and append to them, recorded so that
// test/support/checkers/list-append.ts can judge them: seven lists in two tables of six shards, many clients, so that
// most transactions meet another one.

import type { Random } from '../../../lib/random.ts'
import type { ListRead, Lists, ListTransaction } from '../checkers/list-append.ts'
import { ConnectionLost, type Answer, type StoreClient } from '../servers/store-client.ts'
import { Tally } from './history.ts'
import { countTo } from './load.ts'
import { PLACES, type Place } from './places.ts'

const SPLIT_KEYS = { alpha: ['g', 'n', 't'], beta: ['m'] }

/** One transaction of one client before its outcome is known. */
type Begun = Omit<ListTransaction, 'outcome' | 'endedAt'>

export class ListLoad {
  /** Counts the transactions whose outcome is known. */
  readonly tally = new Tally()
  readonly #random: Random
  readonly #recorded: ListTransaction[] = []
  #count = 0
  #now = 0

  constructor(random: Random) {
    this.#random = random
  }

  get transactions(): readonly ListTransaction[] {
    return this.#recorded
  }

  async prepare(store: StoreClient): Promise<void> {
    for (const [table, split_keys] of Object.entries(SPLIT_KEYS)) {
      await store.createTable(table, { split_keys })
    }
  }

  /** Resolves when each of so many clients has done `perClient` transactions; rejects as one did, when all have ended. */
  async run(
    store: StoreClient,
    { clients, perClient }: { readonly clients: number; readonly perClient: number },
  ): Promise<void> {
    const all = countTo(clients).map(async () => {
      for (let i = 0; i < perClient; i++) await this.#transact(store)
    })
    await Promise.allSettled(all)
    await Promise.all(all)
  }

  /** Every list as it is now, by its table and key. */
  async readAll(store: StoreClient): Promise<Lists> {
    const reads = await Promise.all(PLACES.map((place) => readList(store, place)))
    return new Map(reads.map(({ key, items }) => [key, items]))
  }

  async #transact(store: StoreClient): Promise<void> {
    const begun = { id: `t${++this.#count}`, beganAt: this.#now++ }
    const dice = this.#random()
    if (dice < 0.1) await this.#scan(store, begun)
    else if (dice < 0.2) await this.#claim(store, begun, 0)
    else if (dice < 0.65) await this.#claim(store, begun, 1 + this.#below(2))
    else await this.#appendBlindly(store, begun)
  }

  async #scan(store: StoreClient, begun: Pick<Begun, 'id' | 'beganAt'>): Promise<void> {
    const lines = await store.scan('alpha', { fields: ['items'] })
    const found = new Map(lines.map((line) => [line.key, itemsIn(line['items'])]))
    const places = PLACES.filter(([table]) => table === 'alpha')
    const reads = places.map((place): ListRead => {
      return { key: place.join('/'), items: found.get(place[1]) ?? [], version: undefined }
    })
    this.#record({ ...begun, reads, appends: [] }, 'ok')
  }

  /** Reads some lists one after the other, and appends if none of them has changed by then. */
  async #claim(
    store: StoreClient,
    begun: Pick<Begun, 'id' | 'beganAt'>,
    appendCount: number,
  ): Promise<void> {
    const reads: ListRead[] = []
    const claims: object[] = []
    for (const place of this.#somePlaces(1 + this.#below(4))) {
      const read = await readList(store, place)
      reads.push(read)
      claims.push({ table: place[0], key: place[1], version: String(read.version) })
    }
    const places = this.#somePlaces(appendCount)
    const body = { read_set: claims, tables: appendsTo(places, begun.id) }
    const appends = places.map((place) => place.join('/'))
    const path = '/api/v1/transactions/commit'
    await this.#settle({ ...begun, reads, appends }, store.send('POST', path, body))
  }

  async #appendBlindly(store: StoreClient, begun: Pick<Begun, 'id' | 'beganAt'>): Promise<void> {
    const places = this.#somePlaces(1 + this.#below(3))
    const body = { tables: appendsTo(places, begun.id) }
    const appends = places.map((place) => place.join('/'))
    await this.#settle({ ...begun, reads: [], appends }, store.send('POST', '/api/v1/batch', body))
  }

  /** Rejects with ConnectionLost when the outcome is unknown, which is recorded first. */
  async #settle(begun: Begun, answered: Promise<Answer>): Promise<void> {
    try {
      const { status, text } = await answered
      if (status < 300) this.#record(begun, 'ok')
      else if (status === 409) this.#record(begun, 'fail')
      else throw new Error(`a transaction was answered ${status} ${text}`)
    } catch (error) {
      if (error instanceof ConnectionLost) this.#record(begun, 'unknown')
      throw error
    }
  }

  #record(begun: Begun, outcome: ListTransaction['outcome']): void {
    const endedAt = outcome === 'unknown' ? Infinity : this.#now++
    this.#recorded.push({ ...begun, outcome, endedAt })
    if (outcome !== 'unknown') this.tally.add()
  }

  #somePlaces(count: number): readonly Place[] {
    const rest = [...PLACES]
    return countTo(count).flatMap(() => rest.splice(this.#below(rest.length), 1))
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }
}

function appendsTo(places: readonly Place[], id: string): object {
  const byTable = Map.groupBy(places, ([table]) => table)
  const operations = [{ op: '$push', path: 'items', value: id }]
  const writes = [...byTable].map(([table, keys]) => {
    const transforms = keys.map(([, key]) => ({ key, upsert: true, operations }))
    return [table, { transforms }]
  })
  return Object.fromEntries(writes)
}

async function readList(store: StoreClient, [table, key]: Place): Promise<ListRead> {
  const { document, version } = await store.lookup(table, key)
  return { key: `${table}/${key}`, items: itemsIn(document?.['items']), version }
}

function itemsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
