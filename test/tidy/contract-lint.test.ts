// Both contracts under the linter that most of their readers use, Redocly's.

import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import type { ContractName } from '../../door/contract.ts'

const CONTRACTS: readonly ContractName[] = ['store.v1', 'inference.v1']

for (const name of CONTRACTS) {
  describe(`openapi/${name}.yaml`, () => {
    const source = loadContract(name).text.toString()

    it("passes Redocly's recommended rules", async () => {
      const config = await createConfig({ extends: ['recommended'] })

      const problems = await lintFromString({ source, absoluteRef: `${name}.yaml`, config })

      const told = problems.map(({ ruleId, message, location }) => {
        return `${ruleId} at ${location[0]?.pointer}: ${message}`
      })
      expect(told).to.deep.equal([])
    })
  })
}
