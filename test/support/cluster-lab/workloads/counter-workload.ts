// Counters that are incremented under idempotency keys, again and again until it is known that they are: each
// increment counts once.

import {
  findCounterViolations,
  type CounterAnswer,
  type CounterCall,
} from '../../checkers/counter-checker.ts'
import { ClientHistory, type Violation } from '../../checkers/client-history.ts'
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

const KEYS = PREFIXES.map((prefix) => `${prefix}/count`)
const READ_RATIO = 0.3
const ATTEMPTS = 6
/** Retries are the point here: many of the first attempts do not wait for their answer. */
const HURRIED_RATIO = 0.3

type History = ClientHistory<CounterCall, CounterAnswer>

export class CounterWorkload implements Workload {
  readonly name = 'counters'
  readonly clients = 3
  readonly #world: WorkloadWorld
  readonly #histories = new Map<string, History>(KEYS.map((key) => [key, new ClientHistory()]))
  #increments = 0
  acknowledged = 0

  constructor(world: WorkloadWorld) {
    this.#world = world
  }

  get operations(): readonly unknown[] {
    return [...this.#histories].map(([key, { operations }]) => ({ key, operations }))
  }

  async prepare(): Promise<void> {
    const { lab, table } = this.#world
    await createTable(this.#world)
    const body = { inserts: Object.fromEntries(KEYS.map((key) => [key, { count: 0 }])) }
    await insist(lab, { method: 'POST', path: `/api/v1/tables/${table}/batch`, body })
  }

  step(client: number): Promise<void> {
    const { lab } = this.#world
    const key = lab.pick(KEYS)
    const isRead = lab.random() < READ_RATIO
    return isRead ? this.#read(`c${client}`, key) : this.#increment(`c${client}`, key)
  }

  async readBack(): Promise<void> {
    const { lab, table } = this.#world
    for (const key of KEYS) {
      await insist(lab, lookupOf(table, key))
      await this.#read('end', key)
    }
  }

  violations(): readonly Violation[] {
    return [...this.#histories].flatMap(([key, { operations }]) =>
      findCounterViolations(operations).map(({ rule, description }) => {
        return { rule, description: `${key}: ${description}` }
      }),
    )
  }

  async #increment(client: string, key: string): Promise<void> {
    const { lab, table } = this.#world
    const operation = this.#histories.get(key)!.invoke(client, { kind: 'increment', by: 1 })
    const transforms = [{ key, operations: [{ op: '$inc', path: 'count', value: 1 }] }]
    const path = `/api/v1/tables/${table}/batch`
    const idempotencyKey = `${table}-${++this.#increments}`
    const request = { method: 'POST', path, body: { transforms }, idempotencyKey } as const
    const isHurried = lab.random() < HURRIED_RATIO
    const first = isHurried
      ? await lab.ask({ ...request, hangUpMs: lab.between(1, 50) })
      : undefined
    const { kind } = await settle(lab, request, ATTEMPTS)
    if (kind === 'ok') operation.ok(undefined)
    else if (kind === 'fail' && first?.kind !== 'unknown' && first?.kind !== 'ok') operation.fail()
    else operation.unknown()
    if (kind === 'ok') this.acknowledged += 1
  }

  async #read(client: string, key: string): Promise<void> {
    const { lab, table } = this.#world
    const operation = this.#histories.get(key)!.invoke(client, { kind: 'read' })
    const answer = documentIn(await lab.ask(lookupOf(table, key)))
    if (answer?.document === undefined) return operation.fail()
    const { document } = answer
    const isCount = typeof document === 'object' && document !== null && 'count' in document
    operation.ok(isCount ? Number(document.count) : NaN)
  }
}
