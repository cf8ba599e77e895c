import { expect } from 'chai'
import { findBankViolations, type BankAnswer } from '../../support/checkers/bank-checker.ts'
import { ClientHistory, type Violation } from '../../support/checkers/client-history.ts'
import { findCounterViolations, type CounterCall } from '../../support/checkers/counter-checker.ts'
import {
  findSetViolations,
  type SetAnswer,
  type SetCall,
} from '../../support/checkers/set-checker.ts'

function rulesOf(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ rule }) => rule)
}

describe('ClientHistory', () => {
  it('keeps the order of beginnings and ends, and never ends what is unknown', () => {
    const history = new ClientHistory<string, number>()
    const first = history.invoke('a', 'one')
    const second = history.invoke('b', 'two')
    history.invoke('c', 'three')
    second.ok(2)
    first.unknown()

    const [one, two, three] = history.operations
    expect(two).to.deep.include({ invokedAt: 1, endedAt: 3 })
    expect(one).to.deep.include({ endedAt: Infinity, ending: { kind: 'unknown' } })
    expect(three).to.deep.include({ endedAt: Infinity, ending: { kind: 'unknown' } })
  })
})

describe('findSetViolations', () => {
  let history: ClientHistory<SetCall, SetAnswer>

  beforeEach(() => {
    history = new ClientHistory()
  })

  function add(element: string, how: 'ok' | 'fail' | 'unknown' = 'ok'): void {
    const adding = history.invoke('w', { kind: 'add', element })
    if (how === 'ok') adding.ok([])
    else adding[how]()
  }

  function read(...elements: readonly string[]): void {
    history.invoke('r', { kind: 'read' }).ok(elements)
  }

  function found(): readonly string[] {
    return rulesOf(findSetViolations(history.operations))
  }

  it('accepts elements whose add has an unknown outcome, there or not', () => {
    add('a')
    add('b', 'unknown')
    read('a')
    read('a', 'b')

    expect(found()).to.deep.equal([])
  })

  it('accepts a read that began before an element was acknowledged', () => {
    const reading = history.invoke('r', { kind: 'read' })
    add('a')
    reading.ok([])

    expect(found()).to.deep.equal([])
  })

  it('finds an acknowledged element that is lost', () => {
    add('a')
    read()

    expect(found()).to.deep.equal(['lost'])
  })

  it('finds an element that was seen and is gone', () => {
    add('a', 'unknown')
    read('a')
    read()

    expect(found()).to.deep.equal(['lost'])
  })

  it('finds refused and invented elements, and those that are there twice', () => {
    add('a', 'fail')
    add('b')
    read('a', 'b', 'b', 'c')

    expect(found()).to.have.members(['ghost', 'ghost', 'twice'])
  })
})

describe('findBankViolations', () => {
  it('accepts any division of the money', () => {
    expect(bankRules({ a: 5, b: 5 }, { a: 10, b: 0 })).to.deep.equal([])
  })

  it('finds money that is made or lost, accounts that are gone, and debts', () => {
    expect(bankRules({ a: 5, b: 6 })).to.deep.equal(['total'])
    expect(bankRules({ a: 10 })).to.deep.equal(['accounts'])
    expect(bankRules({ a: 11, b: -1 })).to.deep.equal(['overdrawn'])
  })
})

describe('findCounterViolations', () => {
  it('accepts unknown increments, there or not', () => {
    expect(counterRules(['ok', 'unknown', 'fail'], 1)).to.deep.equal([])
    expect(counterRules(['ok', 'unknown', 'fail'], 2)).to.deep.equal([])
  })

  it('finds increments that are lost, and those that happened twice or although refused', () => {
    expect(counterRules(['ok', 'ok'], 1)).to.deep.equal(['lost'])
    expect(counterRules(['ok', 'fail'], 2)).to.deep.equal(['more'])
  })
})

function bankRules(...audits: readonly BankAnswer[]): readonly string[] {
  const history = new ClientHistory<{ readonly kind: 'audit' }, BankAnswer>()
  for (const balances of audits) history.invoke('a', { kind: 'audit' }).ok(balances)
  return rulesOf(findBankViolations(history.operations, { accounts: 2, total: 10 }))
}

function counterRules(
  endings: readonly ('ok' | 'unknown' | 'fail')[],
  seen: number,
): readonly string[] {
  const history = new ClientHistory<CounterCall, number | undefined>()
  for (const ending of endings) {
    const adding = history.invoke('w', { kind: 'increment', by: 1 })
    if (ending === 'ok') adding.ok(undefined)
    else adding[ending]()
  }
  history.invoke('r', { kind: 'read' }).ok(seen)
  return rulesOf(findCounterViolations(history.operations))
}
