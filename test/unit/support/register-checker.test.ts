import { expect } from 'chai'
import { array, assert, boolean, constantFrom, nat, property, record, tuple } from 'fast-check'
import {
  findRegisterViolations,
  type RegisterOperation,
} from '../../support/checkers/register-checker.ts'

type Short =
  | readonly ['w', value: string, from: number, to: number, ending?: 'fail' | 'unknown']
  | readonly ['r', value: string | undefined, from: number, to: number]

function operationOf([kind, value, invokedAt, to, how]: Short): RegisterOperation {
  const call =
    kind === 'w'
      ? { kind: 'write' as const, key: 'k', value: value ?? '' }
      : { kind: 'read' as const, key: 'k' }
  const ending =
    how === undefined
      ? { kind: 'ok' as const, answer: kind === 'r' ? value : undefined }
      : { kind: how }
  return { client: 'c', call, invokedAt, endedAt: how === 'unknown' ? Infinity : to, ending }
}

function rulesOf(...history: readonly Short[]): readonly string[] {
  return findRegisterViolations(history.map(operationOf)).map(({ rule }) => rule)
}

describe('findRegisterViolations', () => {
  it('accepts reads that overlap a write and see either value', () => {
    expect(rulesOf(['w', 'a', 0, 5], ['r', undefined, 1, 2], ['r', 'a', 3, 4])).to.deep.equal([])
  })

  it('accepts a write of unknown outcome that is seen much later', () => {
    const rules = rulesOf(
      ['w', 'a', 0, 1],
      ['w', 'b', 2, 0, 'unknown'],
      ['r', 'a', 3, 4],
      ['r', 'b', 5, 6],
    )

    expect(rules).to.deep.equal([])
  })

  const planted: Readonly<Record<string, { history: readonly Short[]; rule: string }>> = {
    'a read that misses an acknowledged write': {
      history: [
        ['w', 'a', 0, 1],
        ['r', undefined, 2, 3],
      ],
      rule: 'inside',
    },
    'a stale read after a newer one': {
      history: [
        ['w', 'a', 0, 1],
        ['w', 'b', 2, 10],
        ['r', 'b', 3, 4],
        ['r', 'a', 5, 6],
      ],
      rule: 'inside',
    },
    'a value that comes back': {
      history: [
        ['w', 'a', 0, 10],
        ['w', 'b', 1, 9],
        ['r', 'a', 11, 12],
        ['r', 'b', 13, 14],
        ['r', 'a', 15, 16],
      ],
      rule: 'overlap',
    },
    'a read of a value that nobody wrote': { history: [['r', 'x', 0, 1]], rule: 'read' },
    'a read of a refused write': {
      history: [
        ['w', 'a', 0, 1, 'fail'],
        ['r', 'a', 2, 3],
      ],
      rule: 'read',
    },
    'a read of the future': {
      history: [
        ['r', 'a', 0, 1],
        ['w', 'a', 2, 3],
      ],
      rule: 'read',
    },
    'a write that was overwritten by an older value': {
      history: [
        ['w', 'a', 0, 1],
        ['w', 'b', 2, 3],
        ['r', 'a', 4, 5],
      ],
      rule: 'inside',
    },
    'a write of unknown outcome that comes and goes': {
      history: [
        ['w', 'a', 0, 1],
        ['w', 'b', 2, 0, 'unknown'],
        ['r', 'b', 3, 4],
        ['r', 'a', 5, 6],
      ],
      rule: 'inside',
    },
  }
  for (const [what, { history, rule }] of Object.entries(planted)) {
    it(`finds ${what}`, () => {
      expect(rulesOf(...history)).to.include(rule)
    })
  }

  it('agrees with a search of all orders', () => {
    assert(
      property(smallHistory, (history) => {
        const operations = history.map(operationOf)
        const isLinearizable = findRegisterViolations(operations).length === 0
        expect(isLinearizable, JSON.stringify(history)).to.equal(hasOrder(operations, undefined))
      }),
      { numRuns: 3000 },
    )
  })
})

/** Up to six operations over two values, with all their moments different. */
const smallHistory = array(
  record({
    isWrite: boolean(),
    value: constantFrom('a', 'b', undefined),
    moments: tuple(nat(20), nat(20)),
    how: constantFrom('fail' as const, 'unknown' as const, undefined, undefined),
  }),
  { maxLength: 6 },
).map((drawn) => {
  const written = new Set<string>()
  return drawn.flatMap(({ isWrite, value, moments: [one, other], how }, at): Short[] => {
    const from = Math.min(one, other) + at / 20
    const to = Math.max(one, other) + 0.5 + at / 20
    if (!isWrite) return [['r', value, from, to]]
    if (value === undefined || written.has(value)) return []
    written.add(value)
    return [how === undefined ? ['w', value, from, to] : ['w', value, from, to, how]]
  })
})

/** Whether some order of the operations explains what was read: the definition, without cleverness. */
function hasOrder(left: readonly RegisterOperation[], state: string | undefined): boolean {
  const must = left.filter(({ ending }) => ending.kind === 'ok')
  if (must.length === 0) return true
  const firstEnd = Math.min(...left.map(({ endedAt }) => endedAt))
  for (const operation of left) {
    const { call, ending, invokedAt } = operation
    if (ending.kind === 'fail' || invokedAt > firstEndOf(left, operation, firstEnd)) continue
    const rest = left.filter((other) => other !== operation)
    if (call.kind === 'write') {
      if (hasOrder(rest, call.value)) return true
    } else if (ending.kind === 'ok' && ending.answer === state && hasOrder(rest, state)) return true
  }
  return false
}

/** The first end of the others that happened at all. */
function firstEndOf(
  left: readonly RegisterOperation[],
  operation: RegisterOperation,
  none: number,
): number {
  const ends = left
    .filter((other) => other !== operation && other.ending.kind === 'ok')
    .map(({ endedAt }) => endedAt)
  return ends.length === 0 ? Math.max(none, operation.invokedAt) : Math.min(...ends)
}
