import { expect } from 'chai'
import type { Step } from '../../../../operator/machines/pass/decision.ts'
import {
  believesCluster,
  makesOver,
  namesNoObject,
  namesNoVersion,
} from '../../../support/operator/planted-steps.ts'
import { STEP_ROWS } from '../../../support/operator/step-rows.ts'
import { problemsOf } from '../../../support/operator/step-scenarios.ts'
import type { Plant } from '../../../support/operator/step-world.ts'

const KINDS = Object.keys(STEP_ROWS).filter(isKind)
/** The finalizers' own patches test the version of the cluster. */
const OF_OTHERS = KINDS.filter((kind) => !kind.endsWith('finalizer'))
const ON_VERSIONS = KINDS.filter(
  (kind) =>
    STEP_ROWS[kind].about !== undefined && STEP_ROWS[kind].answers.changedLate === 'outdated',
)
/** Whether a surplus object is the cluster's own is asked of the object that is there. */
const ON_NAMED = OF_OTHERS.filter(
  (kind) => STEP_ROWS[kind].about !== undefined && kind !== 'delete_children',
)

type Defect = { readonly plant: Plant; readonly kinds: readonly Step['kind'][] }

const DEFECTS: Readonly<Record<string, Defect>> = {
  'the cluster is taken as it was read': { plant: believesCluster, kinds: OF_OTHERS },
  'writes name no version': { plant: namesNoVersion, kinds: ON_VERSIONS },
  'an object is whichever has the name': { plant: namesNoObject, kinds: ON_NAMED },
  'a set is made over another one': { plant: makesOver, kinds: ['create_set'] },
}

describe('StepExecutor', () => {
  for (const kind of KINDS) {
    it(`carries ${kind} out once, to what the pass has read, or says why not`, async () => {
      expect(await Array.fromAsync(problemsOf(kind, STEP_ROWS[kind]))).to.deep.equal([])
    })
  }
})

describe('StepExecutor with a planted defect', () => {
  for (const [defect, { plant, kinds }] of Object.entries(DEFECTS)) {
    it(`is caught at each step: ${defect}`, async () => {
      const missed: string[] = []

      for (const kind of kinds) {
        const first = await problemsOf(kind, STEP_ROWS[kind], plant).next()
        if (first.done === true) missed.push(kind)
      }

      expect(missed).to.deep.equal([])
    })
  }
})

function isKind(name: string): name is Step['kind'] {
  return name in STEP_ROWS
}
