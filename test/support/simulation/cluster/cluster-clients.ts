// Clients of a simulated cluster. Each asks any node, and takes silence for an unknown outcome.

import { must } from '../../../../lib/assert.ts'
import type { ErrorCode } from '../../../../lib/errors.ts'
import type { ShardedStore } from '../../../../node/store/sharded-store.ts'
import type { TableWrites } from '../../../../node/document/writes.ts'
import type { ClientHistory } from '../../checkers/client-history.ts'
import type { CounterAnswer, CounterCall } from '../../checkers/counter-checker.ts'
import {
  documentOf,
  fieldOf,
  insert,
  PROPOSE,
  tableContent,
  WRITE,
  writesOf,
} from '../../servers/swarm-harness.ts'
import { Dice } from '../dice.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { askNode, settle, TABLE, type Told } from './asked-node.ts'
import type { CellRead, CellTransaction, ClusterHistory } from './cluster-history.ts'
import { FIRST_BALANCE, type ClusterKeys } from './cluster-keys.ts'
import type { OperationKind, PlannedOperation } from './cluster-plan.ts'
import type { SimulatedNode } from './simulated-node.ts'
import { TableClient } from './table-clients.ts'

/** How often a write under an idempotency key is sent. */
const ATTEMPTS_MAX = 4
/** A client sends a request again after these refusals, and after an unknown outcome. */
const TRY_AGAIN: readonly ErrorCode[] = ['NOT_LEADER', 'OVERLOADED', 'TOO_FEW_IN_SYNC']

export interface ClientSurroundings {
  readonly time: VirtualTime
  readonly history: ClusterHistory
  readonly keys: ClusterKeys
  /** Those that serve. */
  nodes(): readonly SimulatedNode[]
  note(event: string): void
}

/** An operation that goes to a node, with dice of its own. */
interface Asking {
  readonly node: SimulatedNode
  readonly dice: Dice
}

export class ClusterClient {
  readonly #name: string
  readonly #in: ClientSurroundings
  readonly #tables: TableClient
  #count = 0

  constructor(name: string, surroundings: ClientSurroundings) {
    this.#name = name
    this.#in = surroundings
    const { time, history, keys } = surroundings
    this.#tables = new TableClient({
      name,
      history,
      registers: keys.registers,
      nowMs: () => time.nowMs,
      ask: (node, what, call) => this.#ask(node, what, call),
    })
  }

  /** One operation, at any node that serves. */
  async perform({ kind, seed }: Pick<PlannedOperation, 'kind' | 'seed'>): Promise<void> {
    const dice = Dice.of(seed)
    const node = dice.pick(this.#in.nodes())
    if (node !== undefined) await this.#does[kind]({ node, dice })
  }

  readonly #does: Record<OperationKind, (asking: Asking) => Promise<unknown>> = {
    write: (asking) => this.#writeRegisters(asking, 1),
    pair: (asking) => this.#writeRegisters(asking, 2),
    keep: (asking) => this.#keep(asking),
    read: (asking) => this.#readRegister(asking),
    add: (asking) => this.#add(asking),
    scan: ({ node }) => this.readAll(node),
    transfer: (asking) => this.#transfer(asking),
    transact: (asking) => this.#transact(asking),
    blind: (asking) => this.#writeBlindly(asking),
    count: (asking) => this.#countUp(asking),
    tally: (asking) => this.#tally(asking),
    once: (asking) => this.#countOnce(asking),
    cross: (asking) => this.#tables.cross({ ...asking, id: this.#newId() }),
    drop: (asking) => this.#tables.drop({ ...asking, id: this.#newId() }),
    peek: (asking) => this.#tables.peek(asking),
    lend: (asking) => this.#tables.lend({ ...asking, id: this.#newId() }),
    seek: (asking) => this.#tables.seek({ ...asking, id: '' }),
  }

  /** At the end of a history with a table that comes and goes, which every node must know then. */
  async endPassing(node: SimulatedNode): Promise<boolean> {
    return (await this.#tables.create(node)) && (await this.#tables.peek({ node }, true))
  }

  /** One scan sees everything at one moment. */
  async readAll(node: SimulatedNode): Promise<boolean> {
    const { history, keys } = this.#in
    const set = history.set.invoke(this.#name, { kind: 'read' })
    const bank = history.bank.invoke(this.#name, { kind: 'audit' })
    const registers = keys.registers.map((key) => ({
      key,
      open: history.registers.invoke(this.#name, { kind: 'read', key }),
    }))
    const counters = keys.counters.map((key) => ({
      key,
      open: this.#counter(key).invoke(this.#name, { kind: 'read' }),
    }))
    const cells: CellTransaction = { id: this.#newId(), reads: [], writes: [], outcome: 'unknown' }
    history.transactions.push(cells)
    const told = await this.#ask(node, 'scan', (store) => tableContent(store, TABLE))
    if (told.kind !== 'ok') {
      for (const { open } of [...registers, ...counters]) open.unknown()
      for (const open of [set, bank]) open.unknown()
      return false
    }
    const content = told.answer
    for (const { key, open } of registers) open.ok(textIn(content[key]))
    for (const { key, open } of counters) open.ok(numberIn(content[key]))
    set.ok(Object.keys(content).filter((key) => key.includes('/s')))
    const balances = keys.accounts
      .filter((key) => key in content)
      .map((key) => [key, Number(fieldOf(content[key], 'balance'))])
    bank.ok(Object.fromEntries(balances))
    for (const key of keys.cells) {
      cells.reads.push({ key, version: undefined, value: textIn(content[key]) })
    }
    cells.outcome = 'ok'
    return true
  }

  /** Writes one value to several registers in one transaction. */
  async #writeRegisters({ node, dice }: Asking, count: number): Promise<void> {
    const { registers } = this.#in.history
    const value = this.#newId()
    const keys = dice.some(this.#in.keys.registers, count)
    const opened = keys.map((key) => registers.invoke(this.#name, { kind: 'write', key, value }))
    const inserts = keys.map((key) => insert(key, { by: value }))
    const told = await this.#ask(node, `put ${keys.join()}`, (store) =>
      store.batch(writesOf(TABLE, { inserts }), levelOf(dice)),
    )
    for (const open of opened) settle(told, open, undefined)
  }

  /** Writes registers under an idempotency key, one attempt after the other, as a careful client does. */
  async #keep({ node, dice }: Asking): Promise<void> {
    const { registers } = this.#in.history
    const value = this.#newId()
    const keys = dice.some(this.#in.keys.registers, dice.chance(0.5) ? 1 : 2)
    const opened = keys.map((key) => registers.invoke(this.#name, { kind: 'write', key, value }))
    const inserts = keys.map((key) => insert(key, { by: value }))
    const options = { ...levelOf(dice), idempotency: { key: value, digest: keys.join() } }
    let isUnknown = false
    let told: Told<unknown> = { kind: 'fail', code: 'DOWN' }
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const at = i === 0 ? node : pickOf(dice, [node, ...this.#in.nodes()])
      told = await this.#ask(at, `keep ${keys.join()} ${value}`, (store) =>
        store.batch(writesOf(TABLE, { inserts }), options),
      )
      if (told.kind === 'unknown') isUnknown = true
      else if (told.kind === 'ok' || !isWorthAnother(told.code)) break
    }
    const end = told.kind === 'fail' && isUnknown ? ({ kind: 'unknown' } as const) : told
    for (const open of opened) settle(end, open, undefined)
  }

  async #readRegister({ node, dice }: Asking): Promise<void> {
    const key = pickOf(dice, this.#in.keys.registers)
    const open = this.#in.history.registers.invoke(this.#name, { kind: 'read', key })
    const told = await this.#ask(node, `read ${key}`, (store) => documentOf(store, TABLE, key))
    if (told.kind === 'ok') open.ok(textIn(told.answer?.value))
    else open.unknown()
  }

  async #add({ node, dice }: Asking): Promise<void> {
    const element = `${pickOf(dice, this.#in.keys.prefixes)}/s${this.#newId()}`
    const open = this.#in.history.set.invoke(this.#name, { kind: 'add', element })
    const inserts = [insert(element, { by: element })]
    const told = await this.#ask(node, `add ${element}`, (store) =>
      store.batch(writesOf(TABLE, { inserts }), WRITE),
    )
    settle(told, open, [])
  }

  async #transfer({ node, dice }: Asking): Promise<void> {
    const [from, to] = dice.some(this.#in.keys.accounts, 2)
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
    const amount = Math.min(source.balance, 1 + Math.floor(dice.random() * 40))
    const claims = [claimOf(from, source.version), claimOf(to, target.version)]
    const inserts = [
      insert(from, { balance: source.balance - amount }),
      insert(to, { balance: target.balance + amount }),
    ]
    const open = this.#in.history.bank.invoke(this.#name, { kind: 'transfer' })
    const done = await this.#ask(node, 'transfer', (store) =>
      store.commit(claims, [writesOf(TABLE, { inserts })], levelOf(dice)),
    )
    if (done.kind === 'ok' && done.answer.status === 'aborted') open.fail()
    else settle(done, open, undefined)
  }

  /** Reads some cells and writes others, if what it read still holds. */
  async #transact({ node, dice }: Asking): Promise<void> {
    const { history, keys } = this.#in
    const writes = dice.some(keys.cells, Math.floor(dice.between(0, 3)))
    const reads: CellRead[] = []
    const transaction: CellTransaction = { id: this.#newId(), reads, writes, outcome: 'fail' }
    history.transactions.push(transaction)
    for (const key of dice.some(keys.cells, 1 + Math.floor(dice.between(0, 3)))) {
      const told = await this.#ask(node, 'look', (store) => documentOf(store, TABLE, key))
      if (told.kind !== 'ok') return
      reads.push({ key, version: told.answer?.version ?? 0n, value: textIn(told.answer?.value) })
    }
    const claims = reads.map(({ key, version = 0n }) => claimOf(key, version))
    transaction.outcome = 'unknown'
    const inserts = writes.map((key) => insert(key, { by: transaction.id }))
    const done = await this.#ask(node, 'commit', (store) =>
      store.commit(claims, [writesOf(TABLE, { inserts })], levelOf(dice)),
    )
    if (done.kind === 'ok') transaction.outcome = done.answer.status === 'aborted' ? 'fail' : 'ok'
    else transaction.outcome = done.kind
  }

  async #writeBlindly({ node, dice }: Asking): Promise<void> {
    const { history, keys } = this.#in
    const writes = dice.some(keys.cells, 2)
    const id = this.#newId()
    const transaction: CellTransaction = { id, reads: [], writes, outcome: 'unknown' }
    history.transactions.push(transaction)
    const inserts = writes.map((key) => insert(key, { by: id }))
    const { kind } = await this.#ask(node, 'batch', (store) =>
      store.batch(writesOf(TABLE, { inserts }), levelOf(dice)),
    )
    transaction.outcome = kind
  }

  async #countUp({ node, dice }: Asking): Promise<void> {
    const key = pickOf(dice, this.#in.keys.counters)
    const open = this.#counter(key).invoke(this.#name, { kind: 'increment', by: 1 })
    const told = await this.#ask(node, `count ${key}`, (store) => store.batch(upByOne(key), WRITE))
    settle(told, open, undefined)
  }

  /** All attempts have one idempotency key: so many as it takes, at any nodes, and sometimes two at once. */
  async #countOnce({ node, dice }: Asking): Promise<void> {
    const key = pickOf(dice, this.#in.keys.counters)
    const open = this.#counter(key).invoke(this.#name, { kind: 'increment', by: 1 })
    const id = this.#newId()
    const options = { ...levelOf(dice), idempotency: { key: id, digest: key } }
    const attempt = async (at: SimulatedNode): Promise<Told<unknown>> =>
      this.#ask(at, `once ${key} ${id}`, (store) => store.batch(upByOne(key), options))
    const kinds = new Set<Told<unknown>['kind']>()
    for (let i = 0; i < ATTEMPTS_MAX && !kinds.has('ok'); i++) {
      const others = dice.some(this.#in.nodes(), i === 0 && dice.chance(0.7) ? 0 : 1)
      const asked = i === 0 ? [node, ...others] : others
      for (const { kind } of await Promise.all(asked.map(attempt))) kinds.add(kind)
    }
    if (kinds.has('ok')) open.ok(undefined)
    else if (kinds.has('unknown')) open.unknown()
    else open.fail()
  }

  async #tally({ node, dice }: Asking): Promise<void> {
    const key = pickOf(dice, this.#in.keys.counters)
    const open = this.#counter(key).invoke(this.#name, { kind: 'read' })
    const told = await this.#ask(node, `tally ${key}`, (store) => documentOf(store, TABLE, key))
    if (told.kind === 'ok') open.ok(numberIn(told.answer?.value))
    else open.unknown()
  }

  #counter(key: string): ClientHistory<CounterCall, CounterAnswer> {
    return must(this.#in.history.counters.get(key), 'a counter')
  }

  async #ask<Answer>(
    node: SimulatedNode,
    what: string,
    call: (store: ShardedStore) => Answer | Promise<Answer>,
  ): Promise<Told<Answer>> {
    const { time } = this.#in
    const told = await askNode(time, node, call)
    const end = told.kind === 'fail' ? told.code : told.kind
    this.#in.note(`${this.#name} ${node.id} ${what} ${end} ${time.nowMs}`)
    return told
  }

  #newId(): string {
    this.#count += 1
    return `${this.#name}-${this.#count}`
  }
}

function isWorthAnother(code: ErrorCode | 'DOWN'): boolean {
  return code === 'DOWN' || TRY_AGAIN.includes(code)
}

function levelOf(dice: Dice): typeof WRITE {
  return dice.chance(0.5) ? WRITE : PROPOSE
}

function pickOf<Value>(dice: Dice, values: readonly Value[]): Value {
  return must(dice.pick(values), 'a value to pick')
}

function textIn(document: unknown): string | undefined {
  const text = fieldOf(document, 'by')
  return typeof text === 'string' ? text : undefined
}

function numberIn(document: unknown): number {
  return Number(fieldOf(document, 'n') ?? 0)
}

function upByOne(key: string): TableWrites {
  const increment = { operator: '$inc', path: ['n'], value: Buffer.from('1') } as const
  const transforms = [{ key: Buffer.from(key), operations: [increment], upsert: true }]
  return writesOf(TABLE, { transforms })
}

function claimOf(key: string, version: bigint) {
  return { table: TABLE, key: Buffer.from(key), version }
}
