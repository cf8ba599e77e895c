import { expect } from 'chai'
import { decide } from '../../../../../operator/machines/decide.ts'
import { versionProblem } from '../../../../../operator/machines/status/version-change.ts'
import { settle } from '../../../../support/operator/operator-run.ts'
import { World } from '../../../../support/operator/world.ts'

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

describe('a version that is refused', () => {
  it('does not become the target, which a spec that names no version has', () => {
    const world = new World({ replicationFactor: 2 })
    const { targetVersion, image } = settle(world, decide).status
    const calm = world.observe({ cluster: 0, nodes: 0, etcd: 0 })
    const template = { ...calm.desired.template, version: '9.0.0', image: 'quarry:9.0.0' }

    const { status } = decide({ ...calm, desired: { ...calm.desired, template } })

    const told = status.conditions?.find(({ type }) => type === 'SpecValid')
    expect(told?.reason).to.equal('UnsupportedVersionChange')
    expect(status).to.include({ targetVersion, image })
  })
})
