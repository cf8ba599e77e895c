// Whether money was made or lost: transfers between accounts, and reads of all of them at one moment.

import type { Operation, Violation } from './client-history.ts'

export type BankCall = { readonly kind: 'transfer' } | { readonly kind: 'audit' }

/** The balances of all accounts at one moment. A transfer answers undefined. */
export type BankAnswer = Readonly<Record<string, number>> | undefined

export type BankOperation = Operation<BankCall, BankAnswer>

/** What never changes in a bank. */
export interface Bank {
  readonly accounts: number
  readonly total: number
}

/** For each audit: `accounts` that are missing, a wrong `total`, a balance below zero (`overdrawn`). */
export function findBankViolations(
  operations: readonly BankOperation[],
  { accounts, total }: Bank,
): readonly Violation[] {
  const violations: Violation[] = []
  for (const { call, client, ending } of operations) {
    if (call.kind !== 'audit' || ending.kind !== 'ok') continue
    const balances = Object.values(ending.answer ?? {})
    const sum = balances.reduce((before, balance) => before + balance, 0)
    const seen = `${client} saw ${JSON.stringify(ending.answer)}`
    if (balances.length !== accounts) violations.push({ rule: 'accounts', description: seen })
    else if (sum !== total) violations.push({ rule: 'total', description: `${seen}: ${sum}` })
    if (balances.some((balance) => balance < 0)) {
      violations.push({ rule: 'overdrawn', description: seen })
    }
  }
  return violations
}
