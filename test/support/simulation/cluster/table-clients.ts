// Clients of the tables of a simulated cluster that come and go, and of those whose documents do.

import type { Dice } from '../dice.ts'
import type { ShardedStore } from '../../../../node/store/sharded-store.ts'
import { documentOf, insert, tableContent, WRITE, writesOf } from '../../servers/swarm-harness.ts'
import { settle, TABLE, type Told } from './asked-node.ts'
import type { ClusterHistory } from './cluster-history.ts'
import type { SimulatedNode } from './simulated-node.ts'

/** A table that is dropped and created again. */
export const PASSING_TABLE = 'passing'
/** A table whose documents expire. */
export const LOAN_TABLE = 'loans'
export const LOAN_MS = 2000
/** Readers look for one of so many documents that were written last. */
const SOUGHT_MAX = 6

export interface TableSurroundings {
  readonly name: string
  readonly history: ClusterHistory
  readonly registers: readonly string[]
  nowMs(this: void): number
  ask<Answer>(
    this: void,
    node: SimulatedNode,
    what: string,
    call: (store: ShardedStore) => Answer | Promise<Answer>,
  ): Promise<Told<Answer>>
}

/** An operation that goes to a node, with dice and an id of its own. */
interface TableAsking {
  readonly node: SimulatedNode
  readonly dice: Dice
  readonly id: string
}

export class TableClient {
  readonly #in: TableSurroundings

  constructor(surroundings: TableSurroundings) {
    this.#in = surroundings
  }

  /** Writes a register and adds to the table that comes and goes, in one transaction. */
  async cross({ node, dice, id }: TableAsking): Promise<void> {
    const { history, name, registers } = this.#in
    const [key = ''] = dice.some(registers, 1)
    const written = history.registers.invoke(name, { kind: 'write', key, value: id })
    const added = history.passing.invoke(name, { kind: 'add', element: id })
    const writes = [
      writesOf(TABLE, { inserts: [insert(key, { by: id })] }),
      writesOf(PASSING_TABLE, { inserts: [insert(id, {})] }),
    ]
    const told = await this.#in.ask(node, `cross ${key} ${id}`, (store) =>
      store.crossBatch(dice.chance(0.5) ? writes : writes.toReversed(), WRITE),
    )
    settle(told, written, undefined)
    settle(told, added, [])
  }

  /** Drops the table, and creates it again whatever came of that. */
  async drop({ node }: TableAsking): Promise<void> {
    const { history, name, ask } = this.#in
    const dropped = history.passing.invoke(name, { kind: 'drop' })
    const told = await ask(node, 'drop', (store) => store.dropTable(PASSING_TABLE))
    settle(told, dropped, [])
    await this.create(node)
  }

  async create(node: SimulatedNode): Promise<boolean> {
    const created = await this.#in.ask(node, 'create', (store) =>
      store.createTable(PASSING_TABLE, {}),
    )
    return created.kind === 'ok' || (created.kind === 'fail' && created.code === 'ALREADY_EXISTS')
  }

  async peek({ node }: Pick<TableAsking, 'node'>, isLast = false): Promise<boolean> {
    const { history, name, ask } = this.#in
    const read = history.passing.invoke(name, { kind: 'read', isLast })
    const told = await ask(node, 'peek', (store) => tableContent(store, PASSING_TABLE))
    if (told.kind === 'ok') read.ok(Object.keys(told.answer))
    else read.unknown()
    return told.kind === 'ok'
  }

  /** Writes a document that expires. */
  async lend({ node, id }: TableAsking): Promise<void> {
    const inserts = [insert(id, {})]
    await this.#timed('write', id, async () => {
      const told = await this.#in.ask(node, `lend ${id}`, (store) =>
        store.batch(writesOf(LOAN_TABLE, { inserts }), WRITE),
      )
      return told.kind === 'ok' ? { kind: 'ok', answer: true } : told
    })
  }

  async seek({ node, dice }: TableAsking): Promise<void> {
    const lent = this.#in.history.loans.filter(({ kind }) => kind === 'write').slice(-SOUGHT_MAX)
    const key = dice.pick(lent)?.key
    if (key === undefined) return
    const isScanned = dice.chance(0.3)
    await this.#timed('read', key, () =>
      this.#in.ask(node, `seek ${key}`, async (store) => {
        if (isScanned) return key in (await tableContent(store, LOAN_TABLE))
        return (await documentOf(store, LOAN_TABLE, key)) !== undefined
      }),
    )
  }

  async #timed(
    kind: 'write' | 'read',
    key: string,
    run: () => Promise<Told<boolean>>,
  ): Promise<void> {
    const { history, name, nowMs } = this.#in
    const at = history.loans.length
    const begun = { client: name, kind, key, invokedMs: nowMs() } as const
    history.loans.push({ ...begun, endedMs: Infinity, ending: { kind: 'unknown' } })
    const told = await run()
    const endedMs = told.kind === 'unknown' ? Infinity : nowMs()
    history.loans[at] = {
      ...begun,
      endedMs,
      ending: told.kind === 'fail' ? { kind: 'fail', reason: told.code } : told,
    }
  }
}
