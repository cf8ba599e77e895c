import { expect } from 'chai'
import { unreachedReason, type AskedNode } from '../../../../node/cluster/reach-verdict.ts'

const WRONG = 'the secret is another'

/** Nodes by their age, and those of them that this one cannot use. */
function asked(ages: readonly number[], failing: readonly number[]): readonly AskedNode[] {
  return ages.map((since) => ({
    id: `n${since}`,
    since,
    failure: failing.includes(since) ? WRONG : undefined,
  }))
}

const CASES: readonly {
  readonly name: string
  readonly self: number
  readonly others: readonly number[]
  readonly failing: readonly number[]
  readonly isReached: boolean
}[] = [
  { name: 'the only node', self: Infinity, others: [], failing: [], isReached: true },
  {
    name: 'a newcomer that nobody takes',
    self: Infinity,
    others: [1],
    failing: [1],
    isReached: false,
  },
  { name: 'the first of two that part', self: 1, others: [2], failing: [2], isReached: true },
  { name: 'the second of two that part', self: 2, others: [1], failing: [1], isReached: false },
  { name: 'two of three', self: 3, others: [1, 2], failing: [2], isReached: true },
  { name: 'one of three', self: 1, others: [2, 3], failing: [2, 3], isReached: false },
  {
    name: 'half of four with the first',
    self: 1,
    others: [2, 3, 4],
    failing: [3, 4],
    isReached: true,
  },
  {
    name: 'half of four without the first',
    self: 4,
    others: [1, 2, 3],
    failing: [1, 2],
    isReached: false,
  },
]

describe('unreachedReason', () => {
  for (const { name, self, others, failing, isReached } of CASES) {
    it(`${isReached ? 'counts' : 'does not count'} ${name}`, () => {
      const reason = unreachedReason(self, asked(others, failing))

      expect(reason === undefined, reason).to.equal(isReached)
      if (reason !== undefined) expect(reason).to.include(`n${failing[0]}: ${WRONG}`)
    })
  }
})
