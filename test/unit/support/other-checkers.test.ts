import { expect } from 'chai'
import { findBankViolations, type BankAnswer } from '../../support/checkers/bank-checker.ts'
import { ClientHistory, type Violation } from '../../support/checkers/client-history.ts'
import { findCounterViolations, type CounterCall } from '../../support/checkers/counter-checker.ts'
import { findDropViolations, type DropCall } from '../../support/checkers/drop-checker.ts'
import {
  findExpiryViolations,
  type ExpiryOperation,
} from '../../support/checkers/expiry-checker.ts'
import {
  findSetViolations,
  type SetAnswer,
  type SetCall,
} from '../../support/checkers/set-checker.ts'

function rulesOf(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ rule }) => rule)
}

function operation(
  kind: ExpiryOperation['kind'],
  invokedMs: number,
  endedMs: number,
  isThere: boolean,
): ExpiryOperation {
  const ending = { kind: 'ok', answer: isThere } as const
  return { client: 'c', kind, key: 'k', invokedMs, endedMs, ending }
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

describe('findExpiryViolations', () => {
  const rules = { ttlMs: 1000, skewMs: 100 }
  const written = operation('write', 0, 10, true)

  function found(...operations: readonly ExpiryOperation[]): readonly string[] {
    return rulesOf(findExpiryViolations(operations, rules))
  }

  it('accepts both answers while clocks may differ about the time', () => {
    const reads = [true, false].map((isThere) => operation('read', 1000, 1010, isThere))

    expect(found(written, ...reads)).to.deep.equal([])
  })

  for (const [rule, read] of [
    ['late', operation('read', 1210, 1220, true)],
    ['early', operation('read', 700, 799, false)],
  ] as const) {
    it(`finds a read that is too ${rule}`, () => {
      expect(found(written, read)).to.deep.equal([rule])
    })
  }

  it('finds a document that comes back', () => {
    const reads = [operation('read', 850, 860, false), operation('read', 1061, 1070, true)]

    expect(found(written, ...reads)).to.deep.equal(['again'])
  })

  it('finds a document whose write was refused, or had not begun', () => {
    const refused = { ...written, ending: { kind: 'fail' } } as const
    const later = operation('write', 100, 110, true)
    const read = operation('read', 20, 30, true)

    expect(found(refused, read)).to.deep.equal(['ghost'])
    expect(found(later, read)).to.deep.equal(['ghost'])
    expect(found(read)).to.deep.equal(['ghost'])
  })

  it('accepts anything after a write with an unknown outcome', () => {
    const unknown = { ...written, endedMs: Infinity, ending: { kind: 'unknown' } } as const

    expect(found(unknown, operation('read', 5000, 5010, true))).to.deep.equal([])
    expect(found(unknown, operation('read', 20, 30, false))).to.deep.equal([])
  })
})

describe('findDropViolations', () => {
  let history: ClientHistory<DropCall, readonly string[]>

  beforeEach(() => {
    history = new ClientHistory()
  })

  function add(element: string, how: 'ok' | 'fail' | 'unknown' = 'ok'): void {
    const adding = history.invoke('w', { kind: 'add', element })
    if (how === 'ok') adding.ok([])
    else adding[how]()
  }

  function drop(): void {
    history.invoke('d', { kind: 'drop' }).ok([])
  }

  function read(elements: readonly string[], isLast = false): void {
    history.invoke('r', { kind: 'read', isLast }).ok(elements)
  }

  function found(): readonly string[] {
    return rulesOf(findDropViolations(history.operations))
  }

  it('accepts a table that is empty after its drop, and what is added later', () => {
    add('a')
    read(['a'])
    drop()
    add('b')
    read(['b'], true)

    expect(found()).to.deep.equal([])
  })

  it('accepts what may have been added after the drop', () => {
    add('a', 'unknown')
    drop()
    read(['a'], true)

    expect(found()).to.deep.equal([])
  })

  it('finds what is lost without a drop', () => {
    add('a')
    read([])
    drop()

    expect(found()).to.deep.equal(['lost'])
  })

  it('finds what was refused', () => {
    add('a', 'fail')
    read(['a'])

    expect(found()).to.deep.equal(['ghost'])
  })

  it('finds what comes back after a drop', () => {
    add('a')
    drop()
    read(['a'], true)

    expect(found()).to.deep.equal(['back'])
  })
})
