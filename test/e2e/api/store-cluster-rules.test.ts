// What the API server accepts and refuses of a StoreCluster: each rule, each limit, and what may not change.

import { expect } from 'chai'
import { ruleMessages } from '../../../operator/kinds/crd/field-table.ts'
import { FROZEN_CASES, RULE_CASES, type RuleCase } from '../../support/operator/rule-cases.ts'
import type { Json, Written } from '../../support/operator/rule-cases.ts'
import {
  applyKinds,
  manifest,
  refusalOf,
  storedObject,
  StoreClusters,
} from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

describe('rules of a StoreCluster at the API server', () => {
  const namespace = useNamespace('api', import.meta.filename)
  let clusters: StoreClusters
  let number = 0

  before(async () => {
    await applyKinds(namespace())
    clusters = new StoreClusters(namespace())
  })

  async function storedBefore(name: string, from: NonNullable<RuleCase['from']>): Promise<Json> {
    const created = storedObject(await clusters.create(manifest({ ...from, name })))
    if (from.status === undefined) return created
    return storedObject(await clusters.writeStatus({ ...created, status: from.status }))
  }

  /** Tries both objects of a case, after what is stored before. */
  async function tried({ from, accepted, refused }: RuleCase) {
    if (from === undefined) {
      return {
        accepted: await clusters.tryCreate(manifest(accepted)),
        refused: await clusters.tryCreate(manifest(refused)),
      }
    }
    const name = `stored-${number++}`
    const stored = await storedBefore(name, from)
    const replaced = (written: Written) =>
      clusters.tryReplace({ ...manifest({ ...written, name }), metadata: stored['metadata'] })
    return { accepted: await replaced(accepted), refused: await replaced(refused) }
  }

  const rules = ruleMessages()

  it('all have cases', () => {
    expect(Object.keys(RULE_CASES)).to.have.members([...rules])
  })

  for (const [message, ruleCase] of Object.entries(RULE_CASES)) {
    it(`refuse: ${message.slice(0, 90)}`, async () => {
      const { accepted, refused } = await tried(ruleCase)

      storedObject(accepted)
      const { code, causes } = refusalOf(refused)
      expect(code).to.equal(422)
      expect(causes.map((cause) => cause.message).join('\n')).to.include(message)
    })
  }

  for (const [change, frozen] of Object.entries(FROZEN_CASES)) {
    it(`keep what may not change: ${change}`, async () => {
      const { accepted, refused } = await tried(frozen)

      storedObject(accepted)
      const { code, causes } = refusalOf(refused)
      expect(code).to.equal(422)
      expect(causes.some(({ message }) => rules.some((rule) => message.includes(rule)))).to.equal(
        true,
      )
    })
  }
})
