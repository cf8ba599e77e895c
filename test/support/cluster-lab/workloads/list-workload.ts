// Lists on three shards to which transactions append: each reads two and appends to one or both. A list tells
// the order of its versions and the writer of each, so the whole history can be judged (list-append). A
// transaction that writes one of two lists that it read would show write skew.

import type { Violation } from '../../checkers/client-history.ts'
import { listViolations, type ListRead, type ListTransaction } from '../../checkers/list-append.ts'
import { versionOf } from './bank-workload.ts'
import {
  createTable,
  documentIn,
  insist,
  lookupOf,
  PREFIXES,
  settle,
  type Workload,
  type WorkloadWorld,
} from './workload.ts'

const KEYS = PREFIXES.flatMap((prefix) => [`${prefix}/1`, `${prefix}/2`])
const ATTEMPTS = 2
/** Longer lists are left alone: each append writes all of it. */
const LENGTH_MAX = 400

/** A list as a client saw it: the version is the store's. */
interface SeenList extends ListRead {
  readonly version: bigint
}

export class ListWorkload implements Workload {
  readonly name = 'lists'
  readonly clients = 3
  readonly #world: WorkloadWorld
  readonly #appends: ListTransaction[] = []
  #final = new Map<string, readonly string[]>()
  #count = 0
  #now = 0

  constructor(world: WorkloadWorld) {
    this.#world = world
  }

  get operations(): readonly unknown[] {
    return this.#appends
  }

  get acknowledged(): number {
    return this.#appends.filter(({ outcome }) => outcome === 'ok').length
  }

  async prepare(): Promise<void> {
    const { lab, table } = this.#world
    await createTable(this.#world)
    const body = { inserts: Object.fromEntries(KEYS.map((key) => [key, { items: [] }])) }
    await insist(lab, { method: 'POST', path: `/api/v1/tables/${table}/batch`, body })
  }

  async step(): Promise<void> {
    const { lab, table } = this.#world
    const beganAt = this.#now++
    const chosen = lab.some(KEYS, 2)
    const reads = await Promise.all(chosen.map((key) => this.#read(key)))
    const found = reads.filter((read) => read !== undefined)
    if (found.length < 2 || found.some(({ items }) => items.length > LENGTH_MAX)) return
    const id = `t${++this.#count}`
    const written = found.slice(0, lab.random() < 0.6 ? 1 : 2)
    const inserts = written.map(({ key, items }) => [key, { items: [...items, id] }])
    const read_set = found.map(({ key, version }) => ({ table, key, version: String(version) }))
    const body = { read_set, tables: { [table]: { inserts: Object.fromEntries(inserts) } } }
    const request = { method: 'POST', path: '/api/v1/transactions/commit', body } as const
    const idempotencyKey = `${table}-${id}`
    const { kind: outcome } = await settle(lab, { ...request, idempotencyKey }, ATTEMPTS)
    const appends = written.map(({ key }) => key)
    const endedAt = outcome === 'unknown' ? Infinity : this.#now++
    this.#appends.push({ id, reads: found, appends, outcome, beganAt, endedAt })
  }

  async readBack(): Promise<void> {
    const { lab, table } = this.#world
    const final = new Map<string, readonly string[]>()
    for (const key of KEYS) {
      const { items } = JSON.parse(await insist(lab, lookupOf(table, key)))
      final.set(key, items)
    }
    this.#final = final
  }

  violations(): readonly Violation[] {
    return this.#final.size === 0 ? [] : listViolations(this.#appends, this.#final)
  }

  async #read(key: string): Promise<SeenList | undefined> {
    const { lab, table } = this.#world
    const answer = await lab.ask(lookupOf(table, key))
    const document = documentIn(answer)?.document
    const version = versionOf(answer)
    if (version === undefined || typeof document !== 'object' || document === null) return undefined
    const items = 'items' in document && Array.isArray(document.items) ? document.items : []
    return { key, version: BigInt(version), items: items.map(String) }
  }
}
