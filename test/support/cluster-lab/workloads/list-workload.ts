// Lists on three shards to which transactions append: each reads two and appends to one or both. A list tells
// the order of its versions and the writer of each, so the whole history can be judged (list-append). A
// transaction that writes one of two lists that it read would show write skew.

import type { Violation } from '../../checkers/client-history.ts'
import { findAnomalies, type HistoryTransaction } from '../../checkers/serializability.ts'
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

interface ListRead {
  readonly key: string
  readonly version: string
  readonly items: readonly string[]
}

interface Append {
  readonly id: string
  readonly reads: readonly ListRead[]
  readonly keys: readonly string[]
  readonly outcome: 'ok' | 'fail' | 'unknown'
}

export class ListWorkload implements Workload {
  readonly name = 'lists'
  readonly clients = 3
  readonly #world: WorkloadWorld
  readonly #appends: Append[] = []
  #final = new Map<string, readonly string[]>()
  #count = 0

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
    const chosen = lab.some(KEYS, 2)
    const reads = await Promise.all(chosen.map((key) => this.#read(key)))
    const found = reads.filter((read) => read !== undefined)
    if (found.length < 2 || found.some(({ items }) => items.length > LENGTH_MAX)) return
    const id = `t${++this.#count}`
    const written = found.slice(0, lab.random() < 0.6 ? 1 : 2)
    const inserts = written.map(({ key, items }) => [key, { items: [...items, id] }])
    const read_set = found.map(({ key, version }) => ({ table, key, version }))
    const body = { read_set, tables: { [table]: { inserts: Object.fromEntries(inserts) } } }
    const request = { method: 'POST', path: '/api/v1/transactions/commit', body } as const
    const idempotencyKey = `${table}-${id}`
    const { kind: outcome } = await settle(lab, { ...request, idempotencyKey }, ATTEMPTS)
    this.#appends.push({ id, reads: found, keys: written.map(({ key }) => key), outcome })
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
    if (this.#final.size === 0) return []
    const writers = new Set([...this.#final.values()].flat())
    const committed = this.#appends.filter(({ id }) => writers.has(id))
    const aborted = this.#appends.filter(({ outcome }) => outcome === 'fail')
    return [
      ...this.#appends.flatMap((append) => this.#violationsOf(append)),
      ...findAnomalies({
        committed: committed.map(transactionOf),
        abortedValues: new Set(aborted.map(({ id }) => id)),
      }).map(({ kind, description }) => ({ rule: kind, description })),
    ]
  }

  /** Each append is where its answer says, once; what it read is how the list began. */
  #violationsOf({ id, reads, keys, outcome }: Append): readonly Violation[] {
    const times = keys.map((key) => this.#itemsOf(key).filter((item) => item === id).length)
    const isThere = times.every((count) => count === 1)
    const isAbsent = times.every((count) => count === 0)
    const isRight = { ok: isThere, fail: isAbsent, unknown: isThere || isAbsent }[outcome]
    const description = `${id} (${outcome}) is in ${keys.join()} ${times.join()} times`
    const torn = isRight ? [] : [{ rule: 'append', description }]
    const strange = reads.filter(({ key, items }) => {
      const final = this.#itemsOf(key)
      return items.some((item, i) => final[i] !== item)
    })
    return [
      ...torn,
      ...strange.map(({ key, items }) => {
        const began = `${id} read ${items.join()} of ${key}, which became another list`
        return { rule: 'prefix', description: began }
      }),
    ]
  }

  #itemsOf(key: string): readonly string[] {
    return this.#final.get(key) ?? []
  }

  async #read(key: string): Promise<ListRead | undefined> {
    const { lab, table } = this.#world
    const answer = await lab.ask(lookupOf(table, key))
    const document = documentIn(answer)?.document
    const version = versionOf(answer)
    if (version === undefined || typeof document !== 'object' || document === null) return undefined
    const items = 'items' in document && Array.isArray(document.items) ? document.items : []
    return { key, version, items: items.map(String) }
  }
}

/** A list's length is its version. */
function transactionOf({ id, reads, keys }: Append): HistoryTransaction {
  return {
    id,
    reads: reads.map(({ key, items }) => {
      return { key, version: BigInt(items.length), value: items.at(-1) }
    }),
    writes: reads
      .filter(({ key }) => keys.includes(key))
      .map(({ key, items }) => ({ key, version: BigInt(items.length + 1), value: id })),
  }
}
