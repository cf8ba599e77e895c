// Clients that add to a set, look its elements up, search for them and scan all, while something happens to the
// nodes. Each element is two documents on different shards, written as one. No request may fail: the client
// retries what the contract tells it to.

import type { Random } from '../../../lib/random.ts'
import { ClientHistory, type Violation } from '../checkers/client-history.ts'
import { findSetViolations, type SetAnswer, type SetCall } from '../checkers/set-checker.ts'
import type { StoreClient } from '../servers/store-client.ts'
import { Tally } from './history.ts'
import { countTo } from './load.ts'
import { wordOf } from './script-texts.ts'

const HALVES = ['a', 't'] as const
const LOOKUP_RATIO = 0.2
const SEARCH_RATIO = 0.1
const SCAN_RATIO = 0.02
/** Writes that wait until they are searchable, so that each later search must find them. */
const SEARCHABLE_RATIO = 0.3
/** Acknowledged writes by which the load has gone on. */
const STEADY = 40

export interface SearchedSetOptions {
  readonly client: StoreClient
  readonly table: string
  readonly clients: number
  readonly random: Random
  /** Further bytes in each document. */
  readonly padding?: number
}

/** `begin` once, `stop` once; then `readBack` as often as one likes, and `violations` at last. */
export class SearchedSet {
  readonly #with: SearchedSetOptions
  readonly #history = new ClientHistory<SetCall, SetAnswer>()
  readonly #violations: Violation[] = []
  readonly #acknowledged: string[] = []
  readonly #searchable: string[] = []
  readonly #tally = new Tally()
  readonly #over = new AbortController()
  #begun = 0
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: SearchedSetOptions) {
    this.#with = options
  }

  get acknowledged(): number {
    return this.#acknowledged.length
  }

  begin(): void {
    const clients = countTo(this.#with.clients).map(async (client) => {
      while (!this.#over.signal.aborted) await this.#step(`c${client}`)
    })
    this.#running = Promise.all(clients)
    // `goesOn` and `stop` reject with it.
    this.#running.catch(() => undefined)
  }

  /** Resolves when the clients have done some more; rejects when a request of theirs has failed. */
  async goesOn(): Promise<void> {
    await Promise.race([this.#tally.reached(this.#tally.count + STEADY), this.#running])
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#running
  }

  /** Reads all by a client of one node, in one moment. A stale read comes from the node's own replicas. */
  async readBack(client: StoreClient, name: string): Promise<void> {
    await this.#scan(client, name)
  }

  /** Whether one search finds all documents that there are. */
  async allFound(): Promise<boolean> {
    const { total, error } = await this.#query('sea')
    return error === undefined && total === this.#acknowledged.length * HALVES.length
  }

  violations(): readonly Violation[] {
    return [...this.#violations, ...findSetViolations(this.#history.operations)]
  }

  #step(client: string): Promise<void> {
    const dice = this.#with.random()
    if (dice < SCAN_RATIO) return this.#scan(this.#with.client, client)
    if (dice < SCAN_RATIO + SEARCH_RATIO) return this.#search(client)
    if (dice < SCAN_RATIO + SEARCH_RATIO + LOOKUP_RATIO) return this.#lookUp(client)
    return this.#add(client)
  }

  async #add(name: string): Promise<void> {
    const { client, table, random, padding = 0 } = this.#with
    const element = wordOf(this.#begun++)
    const isSearchable = random() < SEARCHABLE_RATIO
    const document = { text: `sea ${element}`, padding: 'x'.repeat(padding) }
    const inserts = Object.fromEntries(HALVES.map((half) => [`${half}/${element}`, document]))
    const operation = this.#history.invoke(name, { kind: 'add', element })
    await client.batch(table, { inserts, ...(isSearchable && { sync_level: 'full_text' }) })
    operation.ok([])
    this.#acknowledged.push(element)
    if (isSearchable) this.#searchable.push(element)
    this.#tally.add()
  }

  async #lookUp(name: string): Promise<void> {
    const { client, table, random } = this.#with
    const element = pickOf(this.#acknowledged, random)
    const half = random() < 0.5 ? HALVES[0] : HALVES[1]
    if (element === undefined) return
    const { document } = await client.lookup(table, `${half}/${element}`)
    if (document !== undefined) return
    this.#violations.push({ rule: 'lost', description: `${name} has no ${half}/${element}` })
  }

  async #search(name: string): Promise<void> {
    const { random } = this.#with
    const element = pickOf(this.#searchable, random)
    if (element === undefined) return
    const { hits, error } = await this.#query(element)
    const expected = HALVES.map((half) => `${half}/${element}`)
    const isRight = error === undefined && String(hits.toSorted()) === String(expected)
    if (isRight) return
    const found = `${name} finds "${hits.join(', ')}" for ${element} (${error ?? 'no error'})`
    this.#violations.push({ rule: 'search', description: found })
  }

  async #scan(client: StoreClient, name: string): Promise<void> {
    const operation = this.#history.invoke(name, { kind: 'read' })
    const lines = await client.scan(this.#with.table, { fields: ['none'] })
    const keys = lines.map(({ key }) => key)
    const [first, second] = HALVES.map((half) => elementsOf(keys, half))
    for (const element of new Set(first).symmetricDifference(new Set(second))) {
      this.#violations.push({ rule: 'torn', description: `${name} sees half of ${element}` })
    }
    operation.ok(first ?? [])
  }

  async #query(match: string): Promise<Found> {
    const { client, table } = this.#with
    const body = { full_text_search: { match, field: 'text' }, limit: 10 }
    const { text } = await client.succeed('POST', `/api/v1/tables/${table}/query`, body)
    const { responses }: QueryAnswer = JSON.parse(text)
    const [{ hits, error } = NOTHING] = responses
    return { total: hits.total, hits: hits.hits.map(({ _id }) => _id), error }
  }
}

interface Found {
  readonly total: number
  readonly hits: readonly string[]
  readonly error: string | undefined
}

interface QueryResult {
  readonly hits: { readonly total: number; readonly hits: readonly { readonly _id: string }[] }
  readonly error?: string
}

interface QueryAnswer {
  readonly responses: readonly QueryResult[]
}

const NOTHING: QueryResult = { hits: { total: 0, hits: [] } }

function pickOf(elements: readonly string[], random: Random): string | undefined {
  return elements[Math.floor(random() * elements.length)]
}

function elementsOf(keys: readonly string[], half: string): readonly string[] {
  return keys.filter((key) => key.startsWith(`${half}/`)).map((key) => key.slice(half.length + 1))
}
