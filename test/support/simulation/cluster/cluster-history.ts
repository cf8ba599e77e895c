// What the clients of a simulated cluster did and saw, and whether it can be.

import type { BankAnswer, BankCall } from '../../checkers/bank-checker.ts'
import { findBankViolations } from '../../checkers/bank-checker.ts'
import { ClientHistory, type Violation } from '../../checkers/client-history.ts'
import {
  findCounterViolations,
  type CounterAnswer,
  type CounterCall,
} from '../../checkers/counter-checker.ts'
import { findDropViolations, type DropCall } from '../../checkers/drop-checker.ts'
import { findExpiryViolations, type ExpiryOperation } from '../../checkers/expiry-checker.ts'
import {
  findRegisterViolations,
  type RegisterAnswer,
  type RegisterCall,
} from '../../checkers/register-checker.ts'
import {
  findAnomalies,
  type Access,
  type HistoryTransaction,
} from '../../checkers/serializability.ts'
import { findSetViolations, type SetAnswer, type SetCall } from '../../checkers/set-checker.ts'
import { FIRST_BALANCE, type ClusterKeys } from './cluster-keys.ts'
import { LOAN_MS } from './table-clients.ts'

/** Clocks are 250 ms wrong at most and 0.4 % too fast or slow, for a minute at most before the loans end. */
const SKEW_MS = 550

/** A read of a cell; the version is unknown if a scan read it. */
export interface CellRead {
  readonly key: string
  readonly version: bigint | undefined
  readonly value: string | undefined
}

/** A transaction over cells. */
export interface CellTransaction {
  readonly id: string
  readonly reads: CellRead[]
  readonly writes: readonly string[]
  outcome: 'ok' | 'fail' | 'unknown'
}

/** A version that the replicas have at the end. */
export interface InstalledVersion {
  readonly key: string
  readonly version: bigint
  readonly value: string
}

export class ClusterHistory {
  readonly #keys: ClusterKeys
  readonly registers = new ClientHistory<RegisterCall, RegisterAnswer>()
  readonly set = new ClientHistory<SetCall, SetAnswer>()
  readonly bank = new ClientHistory<BankCall, BankAnswer>()
  readonly counters: ReadonlyMap<string, ClientHistory<CounterCall, CounterAnswer>>
  readonly transactions: CellTransaction[] = []
  /** The table that comes and goes. */
  readonly passing = new ClientHistory<DropCall, readonly string[]>()
  /** Documents that expire. */
  readonly loans: ExpiryOperation[] = []

  constructor(keys: ClusterKeys) {
    this.#keys = keys
    this.counters = new Map(keys.counters.map((key) => [key, new ClientHistory()]))
  }

  /** How many operations were acknowledged. */
  get acknowledged(): number {
    const { registers, set, bank } = this
    const ended = [registers, set, bank, ...this.counters.values()].flatMap(({ operations }) =>
      operations.filter(({ ending }) => ending.kind === 'ok'),
    )
    return ended.length + this.transactions.filter(({ outcome }) => outcome === 'ok').length
  }

  violations(installed: readonly InstalledVersion[]): readonly Violation[] {
    const { length } = this.#keys.accounts
    const bank = { accounts: length, total: length * FIRST_BALANCE }
    const counters = [...this.counters.values()]
    return [
      ...findRegisterViolations(this.registers.operations),
      ...findSetViolations(this.set.operations),
      ...findBankViolations(this.bank.operations, bank),
      ...counters.flatMap(({ operations }) => findCounterViolations(operations)),
      ...findDropViolations(this.passing.operations),
      ...findExpiryViolations(this.loans, { ttlMs: LOAN_MS, skewMs: SKEW_MS }),
      ...this.#wholeness(installed),
      ...this.#anomalies(installed),
    ]
  }

  /** INV-T3, T4: a transaction is there whole under one version, or not at all. */
  #wholeness(installed: readonly InstalledVersion[]): Violation[] {
    const byWriter = Map.groupBy(installed, ({ value }) => value)
    return this.transactions.flatMap(({ id, writes, outcome }): Violation[] => {
      const versions = byWriter.get(id) ?? []
      const stamps = new Set(versions.map(({ version }) => version))
      const described = `${id} (${outcome}) wrote ${writes.join()} and has ${versions.map(({ key }) => key).join()}`
      if (outcome === 'fail' && versions.length > 0) return [{ rule: 'T3', description: described }]
      if (stamps.size > 1) return [{ rule: 'T4', description: described }]
      const isWhole = versions.length === writes.length
      if (isWhole || (outcome !== 'ok' && versions.length === 0)) return []
      return [{ rule: 'whole', description: described }]
    })
  }

  /** INV-T8. */
  #anomalies(installed: readonly InstalledVersion[]): Violation[] {
    const byWriter = Map.groupBy(installed, ({ value }) => value)
    const isThere = ({ id, outcome, writes }: CellTransaction): boolean =>
      outcome === 'ok' || (outcome === 'unknown' && writes.length > 0 && byWriter.has(id))
    const accessOf = ({ key, version, value }: CellRead): Access => {
      const known = installed.find((one) => one.key === key && one.value === value)
      return { key, value, version: version ?? known?.version ?? 0n }
    }
    const committed = this.transactions
      .filter(isThere)
      .map(({ id, reads }): HistoryTransaction => ({
        id,
        reads: reads.map(accessOf),
        writes: byWriter.get(id) ?? [],
      }))
    const refused = this.transactions.filter((one) => !isThere(one)).map(({ id }) => id)
    return findAnomalies({ committed, abortedValues: new Set(refused) }).map(
      ({ kind, description }) => ({ rule: kind, description }),
    )
  }
}
