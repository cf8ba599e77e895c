// Registers that several clients write and read at any node: linearizable by key.

import { ClientHistory, type Violation } from '../../checkers/client-history.ts'
import {
  findRegisterViolations,
  type RegisterAnswer,
  type RegisterCall,
} from '../../checkers/register-checker.ts'
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

const KEYS = PREFIXES.flatMap((prefix) => [`${prefix}/x`, `${prefix}/y`])
const WRITE_RATIO = 0.5
/** The others are sent once, without an idempotency key. */
const RETRIED_RATIO = 0.5
const ATTEMPTS = 3

export class RegisterWorkload implements Workload {
  readonly name = 'registers'
  readonly clients = 5
  readonly #world: WorkloadWorld
  readonly #history = new ClientHistory<RegisterCall, RegisterAnswer>()
  #values = 0
  acknowledged = 0

  constructor(world: WorkloadWorld) {
    this.#world = world
  }

  get operations(): readonly unknown[] {
    return this.#history.operations
  }

  prepare(): Promise<void> {
    return createTable(this.#world)
  }

  step(client: number): Promise<void> {
    const { lab } = this.#world
    const key = lab.pick(KEYS)
    return lab.random() < WRITE_RATIO ? this.#write(client, key) : this.#read(client, key)
  }

  async readBack(): Promise<void> {
    for (const key of KEYS) {
      const operation = this.#history.invoke('end', { kind: 'read', key })
      const { lab, table } = this.#world
      const answer = documentIn(await lab.ask(lookupOf(table, key)))
      if (answer !== undefined) operation.ok(valueOf(answer.document))
      else operation.fail()
      if (answer === undefined) await insist(lab, lookupOf(table, key))
    }
  }

  violations(): readonly Violation[] {
    return findRegisterViolations(this.#history.operations)
  }

  async #write(client: number, key: string): Promise<void> {
    const { lab, table } = this.#world
    const value = `v${++this.#values}`
    const operation = this.#history.invoke(`c${client}`, { kind: 'write', key, value })
    const path = `/api/v1/tables/${table}/batch`
    const request = { method: 'POST', path, body: { inserts: { [key]: { value } } } } as const
    const isRetried = lab.random() < RETRIED_RATIO
    const answer = isRetried
      ? await settle(lab, { ...request, idempotencyKey: `${table}-${value}` }, ATTEMPTS)
      : await lab.ask(request)
    if (answer.kind === 'unknown') return operation.unknown()
    if (answer.kind === 'fail') return operation.fail(answer.text)
    operation.ok(undefined)
    this.acknowledged += 1
  }

  async #read(client: number, key: string): Promise<void> {
    const { lab, table } = this.#world
    const operation = this.#history.invoke(`c${client}`, { kind: 'read', key })
    const answer = documentIn(await lab.ask(lookupOf(table, key)))
    if (answer === undefined) operation.fail()
    else operation.ok(valueOf(answer.document))
  }
}

function valueOf(document: unknown): string | undefined {
  if (document === undefined) return undefined
  return typeof document === 'object' && document !== null && 'value' in document
    ? String(document.value)
    : 'a document without a value'
}
