// Clients of a simulated cluster. Each asks any node, and takes silence for an unknown outcome.

import { must } from '../../../../lib/assert.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import type { SwarmStore } from '../../../../node/coordinator/swarm-store.ts'
import type { OpenOperation } from '../../checkers/client-history.ts'
import {
  documentOf,
  fieldOf,
  insert,
  PROPOSE,
  tableContent,
  WRITE,
  writesOf,
} from '../../servers/swarm-harness.ts'
import type { VirtualTime } from '../virtual-time.ts'
import {
  ACCOUNTS,
  CELLS,
  FIRST_BALANCE,
  REGISTERS,
  SHARD_PREFIXES,
  type CellRead,
  type CellTransaction,
  type ClusterHistory,
} from './cluster-history.ts'
import type { SimulatedNode } from './simulated-node.ts'

export const TABLE = 'library'
const PATIENCE_MS = 15_000

/** How a call of a store ended for its client. */
export type Told<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  | { readonly kind: 'fail'; readonly code: string }
  | { readonly kind: 'unknown' }

/** Nothing has happened when a call ends so. */
const REFUSALS = ['NOT_LEADER', 'OVERLOADED', 'CONFLICT', 'DISK_FULL', 'NOT_FOUND']

export interface ClientSurroundings {
  readonly time: VirtualTime
  readonly history: ClusterHistory
  /** Those that serve. */
  nodes(): readonly SimulatedNode[]
  note(event: string): void
}

/** Asks one node. A process that ends, or is silent for long, leaves the outcome open. */
export async function askNode<Answer>(
  time: VirtualTime,
  node: SimulatedNode,
  call: (store: SwarmStore) => Answer | Promise<Answer>,
): Promise<Told<Answer>> {
  const { life, store } = node
  if (life === undefined || store === undefined) return { kind: 'fail', code: 'DOWN' }
  const asked = async (): Promise<Told<Answer>> => {
    await new Promise<void>((resolve) => life.clock.whenAwake(resolve))
    try {
      return { kind: 'ok', answer: await call(store) }
    } catch (error) {
      if (!isServiceError(error)) {
        node.failures.push(error instanceof Error ? (error.stack ?? '') : String(error))
        return { kind: 'unknown' }
      }
      const isRefused = REFUSALS.includes(error.code)
      return isRefused ? { kind: 'fail', code: error.code } : { kind: 'unknown' }
    }
  }
  const unknown = { kind: 'unknown' } as const
  const patience = new Promise<typeof unknown>((resolve) =>
    time.after(PATIENCE_MS, () => resolve(unknown)),
  )
  return Promise.race([asked(), life.over.promise.then(() => unknown), patience])
}

export class ClusterClient {
  readonly #name: string
  readonly #in: ClientSurroundings
  #count = 0

  constructor(name: string, surroundings: ClientSurroundings) {
    this.#name = name
    this.#in = surroundings
  }

  /** One operation. */
  async step(): Promise<void> {
    const { time } = this.#in
    const node = time.pick(this.#in.nodes())
    if (node === undefined) return
    const dice = time.random()
    if (dice < 0.2) await this.#writeRegister(node)
    else if (dice < 0.45) await this.#readRegister(node)
    else if (dice < 0.55) await this.#add(node)
    else if (dice < 0.62) await this.readAll(node)
    else if (dice < 0.78) await this.#transfer(node)
    else if (dice < 0.93) await this.#transact(node)
    else await this.#writeBlindly(node)
  }

  /** One scan sees the set, the bank and all cells at one moment. */
  async readAll(node: SimulatedNode): Promise<boolean> {
    const { history } = this.#in
    const set = history.set.invoke(this.#name, { kind: 'read' })
    const bank = history.bank.invoke(this.#name, { kind: 'audit' })
    const cells: CellTransaction = { id: this.#newId(), reads: [], writes: [], outcome: 'unknown' }
    history.transactions.push(cells)
    const told = await this.#ask(node, 'scan', (store) => tableContent(store, TABLE))
    if (told.kind !== 'ok') {
      for (const open of [set, bank]) open.unknown()
      return false
    }
    const content = told.answer
    const keys = Object.keys(content)
    set.ok(keys.filter((key) => key.includes('/s')))
    const balances = ACCOUNTS.filter((key) => key in content).map((key) => [
      key,
      Number(fieldOf(content[key], 'balance')),
    ])
    bank.ok(Object.fromEntries(balances))
    for (const key of CELLS) {
      cells.reads.push({ key, version: undefined, value: textIn(content[key]) })
    }
    cells.outcome = 'ok'
    return true
  }

  async #writeRegister(node: SimulatedNode): Promise<void> {
    const key = this.#pick(REGISTERS)
    const value = this.#newId()
    const open = this.#in.history.registers.invoke(this.#name, { kind: 'write', key, value })
    settle(await this.#put(node, key, { by: value }), open, undefined)
  }

  async #readRegister(node: SimulatedNode): Promise<void> {
    const key = this.#pick(REGISTERS)
    const open = this.#in.history.registers.invoke(this.#name, { kind: 'read', key })
    const told = await this.#ask(node, `read ${key}`, (store) => documentOf(store, TABLE, key))
    if (told.kind === 'ok') open.ok(textIn(told.answer?.value))
    else open.unknown()
  }

  async #add(node: SimulatedNode): Promise<void> {
    const element = `${this.#pick(SHARD_PREFIXES)}/s${this.#newId()}`
    const open = this.#in.history.set.invoke(this.#name, { kind: 'add', element })
    settle(await this.#put(node, element, { by: element }), open, [])
  }

  async #transfer(node: SimulatedNode): Promise<void> {
    const [from, to] = this.#some(ACCOUNTS, 2)
    if (from === undefined || to === undefined) return
    const told = await this.#ask(node, 'look', async (store) => {
      const found = [await documentOf(store, TABLE, from), await documentOf(store, TABLE, to)]
      return found.map((one) => ({
        version: one?.version ?? 0n,
        balance: Number(fieldOf(one?.value, 'balance') ?? FIRST_BALANCE),
      }))
    })
    if (told.kind !== 'ok') return
    const [source, target] = told.answer
    if (source === undefined || target === undefined || source.version === 0n) return
    const amount = Math.min(source.balance, 1 + Math.floor(this.#in.time.random() * 40))
    const claims = [claimOf(from, source.version), claimOf(to, target.version)]
    const inserts = [
      insert(from, { balance: source.balance - amount }),
      insert(to, { balance: target.balance + amount }),
    ]
    const open = this.#in.history.bank.invoke(this.#name, { kind: 'transfer' })
    const done = await this.#ask(node, 'transfer', (store) =>
      store.commit(claims, [writesOf(TABLE, { inserts })], this.#level()),
    )
    if (done.kind === 'ok' && done.answer.status === 'aborted') open.fail()
    else settle(done, open, undefined)
  }

  /** Reads some cells and writes others, if what it read still holds. */
  async #transact(node: SimulatedNode): Promise<void> {
    const { time, history } = this.#in
    const writes = this.#some(CELLS, Math.floor(time.random() * 3))
    const reads: CellRead[] = []
    const transaction: CellTransaction = { id: this.#newId(), reads, writes, outcome: 'fail' }
    history.transactions.push(transaction)
    for (const key of this.#some(CELLS, 1 + Math.floor(time.random() * 3))) {
      const told = await this.#ask(node, 'look', (store) => documentOf(store, TABLE, key))
      if (told.kind !== 'ok') return
      reads.push({ key, version: told.answer?.version ?? 0n, value: textIn(told.answer?.value) })
    }
    const claims = reads.map(({ key, version = 0n }) => claimOf(key, version))
    transaction.outcome = 'unknown'
    const inserts = writes.map((key) => insert(key, { by: transaction.id }))
    const done = await this.#ask(node, 'commit', (store) =>
      store.commit(claims, [writesOf(TABLE, { inserts })], this.#level()),
    )
    if (done.kind === 'ok') transaction.outcome = done.answer.status === 'aborted' ? 'fail' : 'ok'
    else transaction.outcome = done.kind
  }

  async #writeBlindly(node: SimulatedNode): Promise<void> {
    const { history } = this.#in
    const writes = this.#some(CELLS, 2)
    const transaction: CellTransaction = {
      id: this.#newId(),
      reads: [],
      writes,
      outcome: 'unknown',
    }
    history.transactions.push(transaction)
    const inserts = writes.map((key) => insert(key, { by: transaction.id }))
    const { kind } = await this.#ask(node, 'batch', (store) =>
      store.batch(writesOf(TABLE, { inserts }), this.#level()),
    )
    transaction.outcome = kind
  }

  #put(node: SimulatedNode, key: string, document: object): Promise<Told<unknown>> {
    const writes = writesOf(TABLE, { inserts: [insert(key, document)] })
    return this.#ask(node, `put ${key}`, (store) => store.batch(writes, WRITE))
  }

  async #ask<Answer>(
    node: SimulatedNode,
    what: string,
    call: (store: SwarmStore) => Answer | Promise<Answer>,
  ): Promise<Told<Answer>> {
    const { time } = this.#in
    const told = await askNode(time, node, call)
    this.#in.note(`${this.#name} ${node.id} ${what} ${told.kind} ${time.nowMs}`)
    return told
  }

  #newId(): string {
    this.#count += 1
    return `${this.#name}-${this.#count}`
  }

  #level(): typeof WRITE {
    return this.#in.time.chance(0.5) ? WRITE : PROPOSE
  }

  #pick<Value>(values: readonly Value[]): Value {
    return must(this.#in.time.pick(values), 'a value to pick')
  }

  #some(keys: readonly string[], count: number): readonly string[] {
    const rest = [...keys]
    return Array.from({ length: count }, () =>
      rest.splice(Math.floor(this.#in.time.random() * rest.length), 1),
    ).flat()
  }
}

function settle<Answer>(told: Told<unknown>, open: OpenOperation<Answer>, answer: Answer): void {
  if (told.kind === 'ok') open.ok(answer)
  else open[told.kind]()
}

function textIn(document: unknown): string | undefined {
  const text = fieldOf(document, 'by')
  return typeof text === 'string' ? text : undefined
}

function claimOf(key: string, version: bigint) {
  return { table: TABLE, key: Buffer.from(key), version }
}
