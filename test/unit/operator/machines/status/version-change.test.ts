import { expect } from 'chai'
import { versionProblem } from '../../../../../operator/machines/status/version-change.ts'

describe('versionProblem', () => {
  for (const [from, to, allowsDowngrade, isAllowed] of [
    ['1.2.3', '1.2.3', false, true],
    ['1.2.3', '1.3.0', false, true],
    ['1.2.3', '1.2.1', false, true],
    ['1.2.3', '1.4.0', false, false],
    ['1.2.3', '1.1.9', false, false],
    ['1.2.3', '1.1.9', true, true],
    ['1.2.3', '2.0.0', true, false],
    [undefined, '9.9.9', false, true],
  ] as const) {
    const told = allowsDowngrade ? ' with the annotation' : ''
    it(`${isAllowed ? 'lets' : 'does not let'} ${from ?? 'nothing'} become ${to}${told}`, () => {
      const problem = versionProblem(from, to, { allowsDowngrade })

      expect(problem === undefined, problem).to.equal(isAllowed)
    })
  }
})
