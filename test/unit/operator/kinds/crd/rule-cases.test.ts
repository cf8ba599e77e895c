import { expect } from 'chai'
import { ruleMessages } from '../../../../../operator/kinds/crd/field-table.ts'
import { RULE_CASES } from '../../../../support/operator/rule-cases.ts'

describe('rules of a StoreCluster', () => {
  // test/e2e/api/store-cluster-rules.test.ts asks a real API server about them.
  it('have a case that is accepted and one that is refused, each of them', () => {
    expect(Object.keys(RULE_CASES)).to.have.members([...ruleMessages()])
  })
})
