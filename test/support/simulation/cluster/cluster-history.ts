// What the clients of a simulated cluster did and saw, and whether it can be.

import type { BankAnswer, BankCall } from '../../checkers/bank-checker.ts'
import { findBankViolations } from '../../checkers/bank-checker.ts'
import { ClientHistory, type Violation } from '../../checkers/client-history.ts'
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

export const FIRST_BALANCE = 100
/** Keys lie on three shards. */
export const SHARD_PREFIXES = ['a', 'h', 'q'] as const
export const SPLIT_KEYS = ['g', 'p']
export const REGISTERS = SHARD_PREFIXES.map((shard) => `${shard}/r`)
export const ACCOUNTS = SHARD_PREFIXES.flatMap((shard) => [`${shard}/b0`, `${shard}/b1`])
/** Keys of the transactions whose order is checked. */
export const CELLS = SHARD_PREFIXES.flatMap((shard) => [`${shard}/x0`, `${shard}/x1`])

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
  readonly registers = new ClientHistory<RegisterCall, RegisterAnswer>()
  readonly set = new ClientHistory<SetCall, SetAnswer>()
  readonly bank = new ClientHistory<BankCall, BankAnswer>()
  readonly transactions: CellTransaction[] = []

  /** How many operations were acknowledged. */
  get acknowledged(): number {
    const { registers, set, bank } = this
    const ended = [registers, set, bank].flatMap(({ operations }) =>
      operations.filter(({ ending }) => ending.kind === 'ok'),
    )
    return ended.length + this.transactions.filter(({ outcome }) => outcome === 'ok').length
  }

  violations(installed: readonly InstalledVersion[]): readonly Violation[] {
    const bank = { accounts: ACCOUNTS.length, total: ACCOUNTS.length * FIRST_BALANCE }
    return [
      ...findRegisterViolations(this.registers.operations),
      ...findSetViolations(this.set.operations),
      ...findBankViolations(this.bank.operations, bank),
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
