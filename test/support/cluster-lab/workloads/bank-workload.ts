// Transfers between accounts on three shards by optimistic commits, and audits at one moment.

import { findBankViolations, type BankAnswer, type BankCall } from '../../checkers/bank-checker.ts'
import { ClientHistory, type Violation } from '../../checkers/client-history.ts'
import type { LabAnswer } from '../lab-client.ts'
import {
  createTable,
  insist,
  linesOf,
  lookupOf,
  PREFIXES,
  settle,
  type Workload,
  type WorkloadWorld,
} from './workload.ts'

const ACCOUNTS = PREFIXES.flatMap((prefix) => [1, 2, 3, 4].map((n) => `${prefix}/${n}`))
const FIRST_BALANCE = 100
const TRANSFER_MAX = 30
const AUDIT_RATIO = 0.2
const ATTEMPTS = 2

interface Account {
  readonly key: string
  readonly version: string
  readonly balance: number
}

export class BankWorkload implements Workload {
  readonly name = 'bank'
  readonly clients = 3
  readonly #world: WorkloadWorld
  readonly #history = new ClientHistory<BankCall, BankAnswer>()
  #transfers = 0
  acknowledged = 0

  constructor(world: WorkloadWorld) {
    this.#world = world
  }

  get operations(): readonly unknown[] {
    return this.#history.operations
  }

  async prepare(): Promise<void> {
    const { lab, table } = this.#world
    await createTable(this.#world)
    const accounts = ACCOUNTS.map((key) => [key, { balance: FIRST_BALANCE }])
    const body = { inserts: Object.fromEntries(accounts) }
    await insist(lab, { method: 'POST', path: `/api/v1/tables/${table}/batch`, body })
  }

  step(client: number): Promise<void> {
    const isAudit = this.#world.lab.random() < AUDIT_RATIO
    return isAudit ? this.#audit(`c${client}`) : this.#transfer(`c${client}`)
  }

  async readBack(): Promise<void> {
    const { lab, table } = this.#world
    await insist(lab, { method: 'POST', path: `/api/v1/tables/${table}/lookup`, body: {} })
    await this.#audit('end')
  }

  violations(): readonly Violation[] {
    const total = ACCOUNTS.length * FIRST_BALANCE
    return findBankViolations(this.#history.operations, { accounts: ACCOUNTS.length, total })
  }

  async #transfer(client: string): Promise<void> {
    const { lab, table } = this.#world
    const chosen = lab.some(ACCOUNTS, 2)
    const accounts = await Promise.all(chosen.map((key) => this.#account(key)))
    const [from, to] = accounts
    if (from === undefined || to === undefined) return
    const amount = Math.min(1 + Math.floor(lab.random() * TRANSFER_MAX), from.balance)
    if (amount === 0) return
    const operation = this.#history.invoke(client, { kind: 'transfer' })
    const inserts = {
      [from.key]: { balance: from.balance - amount },
      [to.key]: { balance: to.balance + amount },
    }
    const read_set = [from, to].map(({ key, version }) => ({ table, key, version }))
    const body = { read_set, tables: { [table]: { inserts } } }
    const idempotencyKey = `${table}-${++this.#transfers}`
    const request = { method: 'POST', path: '/api/v1/transactions/commit', body } as const
    const { kind } = await settle(lab, { ...request, idempotencyKey }, ATTEMPTS)
    if (kind === 'ok') operation.ok(undefined)
    else operation[kind]()
    if (kind === 'ok') this.acknowledged += 1
  }

  async #account(key: string): Promise<Account | undefined> {
    const { lab, table } = this.#world
    const answer = await lab.ask(lookupOf(table, key))
    const version = versionOf(answer)
    if (answer.kind !== 'ok' || version === undefined) return undefined
    return { key, version, balance: Number(JSON.parse(answer.text).balance) }
  }

  async #audit(client: string): Promise<void> {
    const { lab, table } = this.#world
    const operation = this.#history.invoke(client, { kind: 'audit' })
    const path = `/api/v1/tables/${table}/lookup`
    const answer = await lab.ask({ method: 'POST', path, body: { fields: ['balance'] } })
    if (answer.kind !== 'ok') return operation.fail()
    const lines = linesOf(answer.text)
    operation.ok(
      Object.fromEntries(lines.map(({ key, balance }) => [String(key), Number(balance)])),
    )
  }
}

export function versionOf(answer: LabAnswer): string | undefined {
  const version = answer.kind === 'ok' ? answer.headers['x-service-version'] : undefined
  return typeof version === 'string' ? version : undefined
}
